/* One attempted step of the hinge flow of one realisation, float64: what step.py and implicit.py do, without (h, p) arrays.

   The names, the order of the decisions and the constants are those of the two modules and of training/implicit.py, which
   are the reference; sums are taken in another order, so that both agree to rounding. A gate costs k multiplications to
   find again, less than to fetch from memory: points are taken eight at a time, and all of a neuron stays in registers. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define V 8
#define MOST 128 /* inputs of a neuron */
#define INLINE static inline __attribute__((always_inline))
typedef double vec __attribute__((vector_size(8 * V)));
typedef long long bits __attribute__((vector_size(8 * V)));

typedef struct { /* as in compiled.py; arrays row-major, x (k, p) */
    int h, k, p;
    double alpha, tolerance, corner, gain;
    const double *x, *y, *base;
    double early, early_share, margin_share, safety, grow, shrink, refused, reach;
    double kkt, exact, definite, band, apart, hopeless, far;
    int rounds, large_band, largest;
    void (*dsyrk)(), (*dposv)();
} Problem;

typedef struct {
    double *u, *beta, *m, *q, *push, *before, *mean; /* (h, k), (h), (p), (p), (h, k) ... */
    double past_dt, dt;
} Point;

enum { REFUSED, MOVED, ELSEWHERE };

/* ---- products over all pairs of neurons and points ---- */

INLINE vec at(const double *x, int p, int j, int b) {
    vec v = {0};
    if (p - b >= V) memcpy(&v, x + (size_t)j * p + b, sizeof v);
    else memcpy(&v, x + (size_t)j * p + b, sizeof(double) * (p - b));
    return v;
}

/* y f at all points: gates of the weights `open`, slopes `w` = beta u; of u itself where both are the same network */
INLINE void outputs_k(int h, int p, const double *x, const double *open, const double *w, double *f, const int k) {
    for (int b = 0; b < p; b += V) {
        vec in[MOST], sum = {0};
        for (int j = 0; j < k; j++) in[j] = at(x, p, j, b);
        for (int n = 0; n < h; n++) {
            vec z = open[n * k] * in[0], value = w[n * k] * in[0];
            for (int j = 1; j < k; j++) z += open[n * k + j] * in[j], value += w[n * k + j] * in[j];
            sum += (vec)((bits)value & (z > 0));
        }
        memcpy(f + b, &sum, sizeof(double) * (p - b < V ? p - b : V));
    }
}

INLINE void own_outputs_k(int h, int p, const double *x, const double *u, const double *beta, double *f, const int k) {
    for (int b = 0; b < p; b += V) {
        vec in[MOST], sum = {0};
        for (int j = 0; j < k; j++) in[j] = at(x, p, j, b);
        for (int n = 0; n < h; n++) {
            vec z = u[n * k] * in[0];
            for (int j = 1; j < k; j++) z += u[n * k + j] * in[j];
            sum += beta[n] * (vec)((bits)z & (z > 0));
        }
        memcpy(f + b, &sum, sizeof(double) * (p - b < V ? p - b : V));
    }
}

/* G (h, k) += scale sum_mu [u_n x_mu > 0] x_mu c_mu */
INLINE void field_k(int h, int p, const double *x, const double *c, const double *u, double scale, double *G, const int k) {
    for (int n = 0; n < h; n++) {
        vec sum[MOST];
        for (int j = 0; j < k; j++) sum[j] = (vec){0};
        for (int b = 0; b < p; b += V) {
            vec in[MOST], z = {0};
            for (int j = 0; j < k; j++) in[j] = at(x, p, j, b), z += u[n * k + j] * in[j];
            vec weight = (vec)((bits)at(c, p, 0, b) & (z > 0));
            for (int j = 0; j < k; j++) sum[j] += weight * in[j];
        }
        for (int j = 0; j < k; j++) {
            double total = 0;
            for (int i = 0; i < V; i++) total += sum[j][i];
            G[n * k + j] += scale * total;
        }
    }
}

/* the same functions for each dimension of the chapters, unrolled */
#define EACH(call) \
    switch (k) { \
        case 2: call(2); break; case 3: call(3); break; case 4: call(4); break; case 5: call(5); break; \
        case 6: call(6); break; case 7: call(7); break; case 11: call(11); break; case 21: call(21); break; \
        default: call(k); }

static void field(const Problem *a, int p, const double *x, const double *c, const double *u, double *G) {
    const int k = a->k;
    const double scale = a->gain / a->h / a->p;
#define call(K) field_k(a->h, p, x, c, u, scale, G, K)
    EACH(call)
#undef call
}

static void margins(const Problem *a, const double *f, double *m) {
    for (int i = 0; i < a->p; i++) m[i] = a->alpha * (a->y[i] * f[i] * (a->gain / a->h) - a->base[i]);
}

static void own_margins(const Problem *a, const double *u, const double *beta, double *m) {
    const int k = a->k;
#define call(K) own_outputs_k(a->h, a->p, a->x, u, beta, m, K)
    EACH(call)
#undef call
    margins(a, m, m);
}

static void margins_behind(const Problem *a, const double *open, const double *u, const double *beta, double *w, double *m) {
    const int k = a->k;
    for (int n = 0; n < a->h; n++)
        for (int j = 0; j < k; j++) w[n * k + j] = beta[n] * u[n * k + j];
#define call(K) outputs_k(a->h, a->p, a->x, open, w, m, K)
    EACH(call)
#undef call
    margins(a, m, m);
}

/* the points of `index`, gathered: their inputs (k, n) */
static void gather(const Problem *a, int n, const int *index, double *x) {
    for (int j = 0; j < a->k; j++)
        for (int i = 0; i < n; i++) x[(size_t)j * n + i] = a->x[(size_t)j * a->p + index[i]];
}

/* G at weights u, from the points that push */
static void push_of(const Problem *a, const double *u, const double *q, double *x, double *c, int *index, double *G) {
    int n = 0;
    for (int i = 0; i < a->p; i++)
        if (q[i] != 0) c[n] = a->y[i] * q[i], index[n++] = i;
    memset(G, 0, sizeof(double) * a->h * a->k);
    gather(a, n, index, x);
    field(a, n, x, c, u, G);
}

/* the hyperbolic rotation of (u, beta) by push * dt */
static void rotate(const Problem *a, const double *u, const double *beta, const double *push, double dt, double *u1, double *beta1) {
    for (int n = 0; n < a->h; n++) {
        const double *v = u + n * a->k, *g = push + n * a->k;
        double size = 0, along = 0;
        for (int j = 0; j < a->k; j++) size += g[j] * dt * (g[j] * dt);
        size = sqrt(size);
        const double scale = size > 0 ? dt / size : 0, half = sinh(size / 2), s = sinh(size), c = 2 * half * half;
        for (int j = 0; j < a->k; j++) along += v[j] * (g[j] * scale);
        const double step = along * c + beta[n] * s, last = beta[n] + beta[n] * c + along * s;
        for (int j = 0; j < a->k; j++) u1[n * a->k + j] = v[j] + g[j] * scale * step;
        beta1[n] = last;
    }
}

/* ---- the box problem, training/implicit.py: min q'Hq/2 - b'q over 0 <= q <= 1 ---- */

#define ROUNDS 200
#define PATIENCE 3
#define VARIABLES 100
#define SWEEPS 2
#define GUESSES 6
#define RIDGE 1e-13
#define RIDGES 8
#define TINY 1e-300

typedef struct { int n; const double *H, *b; double *diagonal, *matrix, *right; int *free; void (*dposv)(); } Box;

static void minus_b(const Box *x, const double *q, double *g) { /* g = H q - b; zero rows, most of a bounded q, are left out */
    for (int i = 0; i < x->n; i++) g[i] = -x->b[i];
    for (int j = 0; j < x->n; j++)
        if (q[j] != 0)
            for (int i = 0; i < x->n; i++) g[i] += q[j] * x->H[(size_t)j * x->n + i];
}

INLINE int movable(double q, double g) { return g > 0 ? q > 0 : q < 1; }

static double violation(int n, const double *q, const double *g) {
    double most = 0;
    for (int i = 0; i < n; i++)
        if (movable(q[i], g[i]) && !(fabs(g[i]) <= most)) most = fabs(g[i]);
    return most;
}

/* solves for the free variables with the smallest ridge that makes the system definite: right -> solution; 0 if none does */
static int solved(const Box *x, int n) {
    double ridge, largest = TINY, added = 0;
    int one = 1, failed = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, x->H[(size_t)x->free[i] * x->n + x->free[i]]);
    ridge = RIDGE * largest;
    double *keep = x->right + x->n;
    memcpy(keep, x->right, sizeof(double) * n);
    for (int tries = 0; n && tries < RIDGES; tries++, ridge *= 100) {
        added += ridge;
        for (int i = 0; i < n; i++) {
            for (int j = i; j < n; j++) x->matrix[(size_t)i * n + j] = x->H[(size_t)x->free[i] * x->n + x->free[j]];
            x->matrix[(size_t)i * n + i] += added;
        }
        x->dposv("L", &n, &one, x->matrix, &n, x->right, &n, &failed);
        if (!failed) return 1;
        memcpy(x->right, keep, sizeof(double) * n);
    }
    return !n;
}

static int candidate(const Box *x, const double *q, const double *g, double *guess, double *point) {
    for (int i = 0; i < x->n; i++) guess[i] = q[i] - g[i] / x->diagonal[i];
    for (int tries = 0; tries < GUESSES; tries++) {
        int n = 0, inside = 1;
        for (int i = 0; i < x->n; i++) {
            point[i] = guess[i] >= 1;
            if (guess[i] > 0 && guess[i] < 1) x->free[n++] = i;
        }
        for (int i = 0; i < n; i++) x->right[i] = x->b[x->free[i]];
        for (int j = 0; j < x->n; j++)
            if (point[j] == 1)
                for (int i = 0; i < n; i++) x->right[i] -= x->H[(size_t)j * x->n + x->free[i]];
        if (!solved(x, n)) return 0;
        memcpy(guess, point, sizeof(double) * x->n);
        for (int i = 0; i < n; i++) {
            guess[x->free[i]] = point[x->free[i]] = x->right[i];
            inside &= x->right[i] >= 0 && x->right[i] <= 1;
        }
        if (inside) return 1;
    }
    for (int i = 0; i < x->n; i++) point[i] = fmin(fmax(point[i], 0), 1);
    return 1;
}

static int pivot(const Box *x, double *q, double *g, double tolerance) {
    double most = 0, length = 1;
    int n = 0, worst = 0, hit = -1;
    for (int i = 0; i < x->n; i++)
        if (q[i] > 0 && q[i] < 1) most = fmax(most, fabs(g[i]));
    for (int i = 1; i < x->n; i++)
        if ((movable(q[i], g[i]) ? fabs(g[i]) : 0) > (movable(q[worst], g[worst]) ? fabs(g[worst]) : 0)) worst = i;
    for (int i = 0; i < x->n; i++)
        if ((q[i] > 0 && q[i] < 1) || (most <= 0.1 * tolerance && i == worst)) x->right[n] = -g[i], x->free[n++] = i;
    if (!solved(x, n)) return 0;
    for (int i = 0; i < n; i++) {
        const double move = x->right[i], at = q[x->free[i]], reach = (move > 0 ? 1 - at : at) / fmax(fabs(move), TINY);
        if (reach < length) length = reach, hit = i;
    }
    for (int i = 0; i < n; i++) {
        const int f = x->free[i];
        q[f] = i == hit ? (double)(x->right[i] > 0) : fmin(fmax(q[f] + length * x->right[i], 0), 1);
        for (int j = 0; j < x->n; j++) g[j] += length * x->right[i] * x->H[(size_t)f * x->n + j];
    }
    return 1;
}

static void sweeps(const Box *x, double *q, double *g, int count) {
    while (count--) {
        int n = 0;
        for (int i = 0; i < x->n; i++)
            if (movable(q[i], g[i])) x->free[n++] = i;
        for (int at = 0; at < n; at++) {
            const int i = x->free[at];
            const double change = fmin(fmax(q[i] - g[i] / x->diagonal[i], 0), 1) - q[i];
            if (change == 0) continue;
            q[i] += change;
            for (int j = 0; j < x->n; j++) g[j] += change * x->H[(size_t)i * x->n + j];
        }
    }
}

/* q -> the minimiser; 0 where no ridge makes a system definite */
static int box_qp(int n, const double *H, const double *b, double *q, double tolerance, void (*dposv)()) {
    double *g = malloc(sizeof(double) * (8 * (size_t)n + (size_t)n * n)), *trial = g + n, *slope = g + 2 * n, *guess = g + 3 * n;
    int *index = malloc(sizeof(int) * (n + 1)), refused = 0, fine = 1;
    Box x = {n, H, b, g + 4 * n, g + 8 * n, g + 5 * n, index, dposv};
    double largest = TINY;
    for (int i = 0; i < n; i++) largest = fmax(largest, H[(size_t)i * n + i]);
    for (int i = 0; i < n; i++) x.diagonal[i] = fmax(H[(size_t)i * n + i], RIDGE * largest), q[i] = fmin(fmax(q[i], 0), 1);
    minus_b(&x, q, g);
    for (int round = 0; fine && round < ROUNDS + 4 * n && violation(n, q, g) > tolerance; round++) {
        if (refused > PATIENCE + n / VARIABLES) {
            fine = pivot(&x, q, g, tolerance);
            continue;
        }
        if (!(fine = candidate(&x, q, g, guess, trial))) break;
        double change = 0;
        minus_b(&x, trial, slope);
        for (int i = 0; i < n; i++) change += (trial[i] - q[i]) * (slope[i] + g[i]);
        if (violation(n, trial, slope) <= tolerance || change < 0) {
            memcpy(q, trial, sizeof(double) * n);
            memcpy(g, slope, sizeof(double) * n);
        } else sweeps(&x, q, g, SWEEPS + refused++);
    }
    free(g), free(index);
    return fine;
}

/* ---- the implicit equations, implicit.py ---- */

typedef struct { double *u, *beta, *first, *open, *m, *q, *mean, *low, *high, *wrong; double error; int corrected; } End;
typedef struct { double *far, *w, *x, *c; int *index; } Room;

/* A (n, n): the change of the margins in the band by multipliers there, gates of the first pass */
static void gram(const Problem *a, const Point *now, const End *end, const Room *room, int n, double *A) {
    const int h = a->h, k = a->k;
    const double scale = 2 * a->alpha * now->dt / ((double)h * h * a->p), one = 1, zero = 0;
    double *hidden = malloc(sizeof(double) * 2 * (size_t)h * n), *opened = hidden + (size_t)h * n, *B = malloc(sizeof(double) * (size_t)n * n);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < h; r++) {
            double z = 0, value = 0;
            for (int j = 0; j < k; j++) {
                z += end->open[r * k + j] * room->x[(size_t)j * n + i];
                value += end->u[r * k + j] * room->x[(size_t)j * n + i];
            }
            hidden[(size_t)i * h + r] = z > 0 ? value : 0;
            opened[(size_t)i * h + r] = z > 0 ? end->beta[r] : 0;
        }
    a->dsyrk("U", "T", &n, &h, &one, hidden, &h, &zero, A, &n);
    a->dsyrk("U", "T", &n, &h, &one, opened, &h, &zero, B, &n);
    for (int i = 0; i < n; i++)
        for (int l = 0; l <= i; l++) {
            double product = 0;
            for (int j = 0; j < k; j++) product += room->x[(size_t)j * n + i] * room->x[(size_t)j * n + l];
            const double value = (A[(size_t)i * n + l] + product * B[(size_t)i * n + l]) * scale * a->y[room->index[i]] * a->y[room->index[l]];
            A[(size_t)i * n + l] = A[(size_t)l * n + i] = value;
        }
    for (int i = 0; i < n; i++) A[(size_t)i * n + i] *= 1 + a->definite * 2.220446049250313e-16;
    free(hidden), free(B);
}

/* new multipliers of the band's n points; 0 where the reference has to look at it */
static int multipliers(const Problem *a, const Point *now, const End *end, const Room *room, int n, double *new) {
    if (n > a->largest) return 0;
    double *A = malloc(sizeof(double) * ((size_t)n * n + 4 * (size_t)n)), *right = A + (size_t)n * n, *width = right + n, *old = right + 2 * n;
    gram(a, now, end, room, n, A);
    for (int i = 0; i < n; i++) {
        const int at = room->index[i];
        width[i] = end->high[at] - end->low[at];
        old[i] = end->q[at] - end->low[at];
        right[i] = a->corner - end->m[at];
    }
    for (int j = 0; j < n; j++)
        if (old[j] != 0)
            for (int i = 0; i < n; i++) right[i] += A[(size_t)j * n + i] * old[j];
    for (int i = 0; i < n; i++) {
        right[i] *= width[i], new[i] = old[i] / fmax(width[i], 1e-12);
        for (int j = 0; j < n; j++) A[(size_t)i * n + j] *= width[i] * width[j];
    }
    const int fine = box_qp(n, A, right, new, a->exact * a->kkt * a->tolerance, a->dposv);
    for (int i = 0; i < n; i++) {
        const int at = room->index[i];
        new[i] = new[i] == 1 ? end->high[at] : end->low[at] + width[i] * new[i];
    }
    free(A);
    return fine;
}

/* the end with better multipliers; 0 where the reference has to look at it */
static int corrected(const Problem *a, const Point *now, End *end, const Room *room) {
    const int p = a->p;
    int total = 0, crossing = 0, n = 0;
    for (int i = 0; i < p; i++) {
        const int between = end->q[i] > end->low[i] && end->q[i] < end->high[i], needed = end->wrong[i] > 0 || between;
        total += needed || fabs(end->m[i] - a->corner) < a->band * a->tolerance;
        crossing += needed && !between && !end->corrected;
    }
    const int large = total > a->large_band;
    crossing = large && crossing;
    for (int i = 0; i < p; i++) {
        const int between = end->q[i] > end->low[i] && end->q[i] < end->high[i], needed = end->wrong[i] > 0 || between;
        const int near = fabs(end->m[i] - a->corner) < a->band * a->tolerance;
        if (crossing ? needed && !between && !end->corrected : needed || (near && !large)) room->index[n++] = i;
    }
    gather(a, n, room->index, room->x);
    if (crossing)
        for (int i = 0; i < n; i++) room->c[i] = end->m[room->index[i]] > a->corner ? end->low[room->index[i]] : end->high[room->index[i]];
    else if (!multipliers(a, now, end, room, n, room->c)) return 0;
    for (int i = 0; i < n; i++) {
        const int at = room->index[i];
        const double change = room->c[i] - end->q[at];
        end->q[at] = room->c[i];
        room->c[i] = a->y[at] * change / 2;
    }
    field(a, n, room->x, room->c, now->u, end->mean);
    field(a, n, room->x, room->c, room->far, end->mean);
    rotate(a, now->u, now->beta, end->mean, now->dt, end->u, end->beta);
    margins_behind(a, end->open, end->u, end->beta, room->w, end->m);
    end->corrected = 1;
    return 1;
}

static void corner_bounds(const Problem *a, const Point *now, End *end) {
    for (int i = 0; i < a->p; i++) {
        const double below = a->corner - now->m[i], path = end->m[i] - now->m[i];
        const int crosses = below * (a->corner - end->m[i]) < 0 && fabs(below) > a->apart * a->tolerance;
        const double share = crosses ? below / path : 0;
        end->low[i] = below > 0 ? share : 0;
        end->high[i] = below < 0 ? 1 - share : 1;
    }
}

/* the end at which the equations hold, where `wanted`; 0 where the reference has to look at it */
static int solve(const Problem *a, const Point *now, End *end, const Room *room, int wanted, double allowed) {
    const int p = a->p;
    rotate(a, now->u, now->beta, end->mean, now->dt, end->u, end->beta);
    memcpy(end->open, end->u, sizeof(double) * a->h * a->k);
    own_margins(a, end->u, end->beta, end->first);
    memcpy(end->m, end->first, sizeof(double) * p);
    memcpy(end->q, now->q, sizeof(double) * p);
    end->error = 0, end->corrected = 0;
    corner_bounds(a, now, end);
    for (int round = 0; round <= a->rounds; round++) {
        double most = 0, own = 0, moved = 0;
        int finite = 1;
        for (int i = 0; i < p; i++) {
            const double above = end->m[i] - a->corner;
            end->wrong[i] = (above > 0 ? end->q[i] > end->low[i] : end->q[i] < end->high[i]) ? fabs(above) : 0;
            const double part = fmin(end->wrong[i], fabs(end->m[i] - now->m[i]));
            finite &= isfinite(end->m[i]) && isfinite(part);
            most = fmax(most, end->wrong[i]), own = fmax(own, part);
        }
        if (!finite || (wanted && own > a->hopeless * allowed)) {
            end->error = INFINITY;
            wanted = 0;
        }
        if (!wanted || !(most > a->kkt * a->tolerance)) return 1;
        if (round == a->rounds) {
            end->error = a->far;
            return 1;
        }
        if (!corrected(a, now, end, room)) return 0;
        for (int i = 0; i < p; i++) moved = fmax(moved, fabs(end->m[i] - end->first[i]));
        end->error = moved / (2 * allowed);
        wanted = end->error < a->far;
    }
    return 1;
}

/* weights at the end of the step (far), its mean G, and the error of the weights, in tolerances */
static double predict(const Problem *a, const Point *now, const End *end, const Room *room, double *guess) {
    const int size = a->h * a->k;
    const double ratio = now->dt / (2 * now->past_dt);
    for (int i = 0; i < size; i++) guess[i] = now->push[i] + ratio * (now->push[i] - now->before[i]);
    rotate(a, now->u, now->beta, guess, now->dt, room->far, end->beta);
    push_of(a, room->far, now->q, room->x, room->c, room->index, end->mean);
    double bent = 0, weights = 0;
    for (int n = 0; n < a->h; n++) {
        double weight = now->beta[n] * now->beta[n], off = 0;
        for (int i = n * a->k; i < (n + 1) * a->k; i++) {
            end->mean[i] = (now->push[i] + end->mean[i]) / 2;
            weight += now->u[i] * now->u[i];
            off += (end->mean[i] - guess[i]) * (end->mean[i] - guess[i]);
        }
        bent += weight * off, weights += weight;
    }
    return now->dt * sqrt(bent / weights) / a->tolerance;
}

/* One attempted step: `after` is filled where it moved, and after->dt in any case. */
int advance(const Problem *a, const Point *now, Point *after) {
    const size_t size = (size_t)a->h * a->k, p = a->p;
    double *room_ = malloc(sizeof(double) * (4 * size + 8 * p + p * a->k));
    double *guess = room_, *far = room_ + size, *w = room_ + 2 * size, *open = room_ + 3 * size, *c = room_ + 4 * size;
    double *first = c + p, *low = c + 2 * p, *high = c + 3 * p, *wrong = c + 4 * p, *x = c + 8 * p;
    int *index = malloc(sizeof(int) * p), code = ELSEWHERE;
    Room room = {far, w, x, c, index};
    End end = {after->u, after->beta, first, open, after->m, after->q, after->mean, low, high, wrong, 0, 0};
    size_t satisfied = 0;
    for (size_t i = 0; i < p; i++) satisfied += now->m[i] >= 1;
    const double allowed = ((double)satisfied / p < a->early ? a->early_share : a->margin_share) * a->tolerance;
    const double predicted = predict(a, now, &end, &room, guess);
    if (solve(a, now, &end, &room, predicted <= 1, allowed)) {
        const double error = predicted > end.error || isnan(predicted) ? predicted : end.error;
        const double wish = a->safety / sqrt(error), factor = isnan(wish) ? a->shrink : fmin(fmax(wish, a->shrink), a->grow);
        code = error <= 1 ? MOVED : REFUSED;
        after->dt = now->dt * (code == MOVED ? factor : fmin(factor, a->refused));
        if (code == MOVED) {
            double longest = 0;
            if (end.corrected) own_margins(a, after->u, after->beta, after->m);
            push_of(a, after->u, after->q, x, c, index, after->push);
            for (int n = 0; n < a->h; n++) {
                double square = 0;
                for (int i = n * a->k; i < (n + 1) * a->k; i++) {
                    square += after->push[i] * after->push[i];
                    after->before[i] = 2 * after->mean[i] - after->push[i];
                }
                longest = fmax(longest, square);
            }
            after->dt = fmin(after->dt, a->reach / fmax(sqrt(longest), 1e-300));
        }
    }
    free(room_), free(index);
    return code;
}
