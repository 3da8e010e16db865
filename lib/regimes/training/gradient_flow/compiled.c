/* One attempted step of the hinge flow of one realisation, float64: what step.py and implicit.py do, without (h, p) arrays.

   The names, the order of the decisions and the constants are those of the two modules and of training/implicit.py, which
   are the reference; sums are taken in another order, so that both agree to rounding, until a fifth of the points are
   satisfied (EARLY). From then on most points are far above the hinge's corner, and this step looks at fewer of them:

   * A point that is satisfied, far above the corner and without a multiplier keeps its margin of an earlier step, as long
     as no step can have brought it back. From one set of weights (u, beta) to another, (u', beta'), a margin changes by

         |m'_i - m_i|  <=  |x_i| (alpha gain / h) sum_n max(|beta'_n u'_n - beta_n u_n|, max(|beta_n|, |beta'_n|) |u'_n - u_n|)

     (the first where the gate is open before and after, the second where it opens or closes). `drift` adds up the factor
     of |x_i| over the steps. A point is seen again when drift, with this step's, reaches its `until`: its distance from
     the corner, over |x_i|, when it was seen last. The end of a step is compared with what was foreseen for it.
   * A correction that is accepted moves no margin by more than 2 `allowed`. So the forward passes of the implicit equations
     look only at points so near to the corner (`close`), and the last pass, with the gates of the new weights, at all that
     are seen. There the error counts at points that are, before or after it, nearer to the corner than this `window`:
     farther ones push neither way. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"
#include "products.h"
#include "box.h"
#include "band.h"

#define FORESEEN 1.2 /* times the bound of a step's first pass: what the points that it need not see can bear */

typedef struct { /* a point of the path: (h, k), (h), (p), (p), (h, k) three times, (p) */
    double *u, *beta, *m, *q, *push, *before, *mean, *until;
    double past_dt, dt, drift, largest; /* the largest margin */
    int stale, satisfied, finite, pushed; /* margins of an earlier step, of at least 1; whether all are finite, any G is not 0 */
} Point;

enum { REFUSED, MOVED, ELSEWHERE };

typedef struct {
    double *u, *beta, *m, *q, *mean;
    double *open, *first, *low, *high, *wrong; /* gates and margins of the first pass; bounds; violations */
    double error, move;                        /* of the margins, in allowed ones; the bound on their change over |x| */
    int corrected;
} End;

typedef struct { /* of an attempt */
    double allowed, window, foreseen;
    int early;
    double *far, *slope, *G, *open, *c, *f, *first, *low, *high, *wrong, *rows;
    Set seen, close, band;
} Room;

/* ---- margins and fields ---- */

static void put(const Problem *a, const Set *set, const double *f, double *m) {
    for (int i = 0; i < set->n; i++) {
        const int at = set->index[i];
        m[at] = a->alpha * (a->y[at] * f[i] * (a->gain / a->h) - a->base[at]);
    }
}

static void own_margins(const Problem *a, const Room *room, const Set *set, const double *u, const double *beta, double *m) {
    own_outputs(set, a->h, a->k, u, beta, room->f);
    put(a, set, room->f, m);
}

static void margins_behind(const Problem *a, const Room *room, const Set *set, const End *end) {
    for (int n = 0; n < a->h; n++)
        for (int j = n * a->k; j < (n + 1) * a->k; j++) room->slope[j] = end->beta[n] * end->u[j];
    outputs(set, a->h, a->k, end->open, room->slope, room->f);
    put(a, set, room->f, end->m);
}

static void add_field(const Problem *a, const Room *room, const Set *set, const double *c, const double *u, double *G) {
    field(set, a->h, a->k, c, u, a->gain / a->h / a->p, G, room->rows);
}

/* G at weights u, from the points that push */
static void push_of(const Problem *a, Room *room, const double *u, const double *q, double *G) {
    Set *set = &room->band;
    set->n = 0;
    for (int i = 0; i < a->p; i++)
        if (q[i] != 0) room->c[set->n] = a->y[i] * q[i], set->index[set->n++] = i;
    gather(set, a->k, a->p, a->x);
    memset(G, 0, sizeof(double) * a->h * a->k);
    add_field(a, room, set, room->c, u, G);
}

/* the hyperbolic rotation of (u, beta) by push * dt */
static void rotate(const Problem *a, const double *u, const double *beta, const double *push, double dt, double *u1, double *beta1) {
    const int k = a->k;
    for (int n = 0; n < a->h; n++) {
        const double *v = u + (size_t)n * k, *g = push + (size_t)n * k, last = beta[n];
        double size = 0, along = 0;
        for (int j = 0; j < k; j++) size += g[j] * dt * (g[j] * dt);
        size = sqrt(size);
        const double scale = size > 0 ? dt / size : 0, half = sinh(size / 2), s = sinh(size), c = 2 * half * half;
        for (int j = 0; j < k; j++) along += v[j] * (g[j] * scale);
        const double step = along * c + last * s;
        for (int j = 0; j < k; j++) u1[(size_t)n * k + j] = v[j] + g[j] * scale * step;
        beta1[n] = last + last * c + along * s;
    }
}

/* the bound on the change of a margin over |x| between two sets of weights */
static double largest_move(const Problem *a, const double *u, const double *beta, const double *u1, const double *beta1) {
    double sum = 0;
    for (int n = 0; n < a->h; n++) {
        const double *v = u + (size_t)n * a->k, *v1 = u1 + (size_t)n * a->k, b = beta[n], b1 = beta1[n];
        double turned = 0, slope = 0;
        for (int j = 0; j < a->k; j++) {
            turned += (v1[j] - v[j]) * (v1[j] - v[j]);
            slope += (b1 * v1[j] - b * v[j]) * (b1 * v1[j] - b * v[j]);
        }
        const double crossing = fmax(b * b, b1 * b1) * turned;
        sum += sqrt(slope > crossing ? slope : crossing);
    }
    return a->alpha * a->gain / a->h * sum;
}

/* the end's weights from its mean G, and how far margins can have moved there */
static void go(const Problem *a, const Point *now, End *end) {
    rotate(a, now->u, now->beta, end->mean, now->dt, end->u, end->beta);
    const double move = largest_move(a, now->u, now->beta, end->u, end->beta);
    if (!(move <= end->move)) end->move = move;
}

/* ---- the implicit equations, implicit.py ---- */

static int held(const End *end, int i) { return end->q[i] > end->low[i] && end->q[i] < end->high[i]; }

static int needed(const End *end, int i) { return end->wrong[i] > 0 || held(end, i); }

/* the points whose multipliers are corrected together; 1 if they crossed the corner and go to the bounds of their sides */
static int choose_band(const Problem *a, const End *end, Room *room, int *kept) {
    const Set *seen = &room->seen;
    Set *band = &room->band;
    int total = 0, crossing = 0;
    *kept = band->n = 0;
    for (int s = 0; s < seen->n; s++) {
        const int i = seen->index[s], need = needed(end, i), between = held(end, i);
        total += need || fabs(end->m[i] - a->corner) < a->band * a->tolerance;
        crossing += need && !between && !end->corrected;
        *kept += between;
    }
    const int large = total > a->large_band;
    crossing = large && crossing;
    for (int s = 0; s < seen->n; s++) {
        const int i = seen->index[s], need = needed(end, i);
        const int near = !large && fabs(end->m[i] - a->corner) < a->band * a->tolerance;
        if (crossing ? need && !held(end, i) : need || near) band->index[band->n++] = i;
    }
    gather(band, a->k, a->p, a->x);
    return crossing;
}

/* q -> the minimiser, with A in memory: b = `right` + A q, of the q given */
static int dense(const Kernel *A, double *right, double *q) {
    const Problem *a = A->a;
    const int n = A->set->n;
    double *matrix = n > a->largest ? NULL : malloc(sizeof(double) * ((size_t)n * n + 1));
    int fine = matrix && gram(A, matrix);
    for (int j = 0; fine && j < n; j++)
        for (int i = 0; q[j] != 0 && i < n; i++) right[i] += matrix[(size_t)j * n + i] * q[j];
    fine = fine && box_qp(n, matrix, right, q, a->exact * a->kkt * a->tolerance, a->dposv);
    free(matrix);
    return fine ? SOLVED : FAILED;
}

/* new multipliers of the band */
static int multipliers(const Problem *a, const Point *now, const End *end, const Room *room, int kept, double *new) {
    const Set *band = &room->band;
    const int n = band->n;
    double *vectors = malloc(sizeof(double) * 6 * ((size_t)n + 1));
    double *signs = vectors, *width = vectors + n, *right = vectors + 2 * n, *part = vectors + 3 * n, *known = vectors + 4 * n, *trial = vectors + 5 * n;
    if (!vectors) return FAILED;
    Kernel A = {a, band, end->open, end->u, end->beta, 2 * a->alpha * now->dt / ((double)a->h * a->h * a->p), signs, width, room->c, room->f, room->G, room->slope, room->rows};
    for (int i = 0; i < n; i++) {
        const int at = band->index[i];
        signs[i] = a->y[at], width[i] = end->high[at] - end->low[at];
        part[i] = (end->q[at] - end->low[at]) / fmax(width[i], 1e-12);
    }
    for (int i = 0; i < n; i++) right[i] = width[i] * (a->corner - end->m[band->index[i]]);
    int code = FAILED;
    if (n > FREE) {
        apply(&A, part, known);
        for (int i = 0; i < n; i++) known[i] += right[i], trial[i] = part[i];
        code = free_box_qp(&A, known, trial, kept, FREE_EXACT * a->kkt * a->tolerance);
        if (code == SOLVED) memcpy(part, trial, sizeof(double) * n);
        if (code == SHORTER && !(now->dt > SHORTER_DT * now->past_dt)) code = FAILED;
    }
    if (code == FAILED) code = dense(&A, right, part);
    for (int i = 0; i < n; i++) {
        const int at = band->index[i];
        new[i] = part[i] == 1 ? end->high[at] : end->low[at] + width[i] * part[i];
    }
    free(vectors);
    return code;
}

/* the points that a correction can bring to the corner, if it is accepted */
static void choose_close(const Problem *a, const End *end, Room *room) {
    Set *close = &room->close;
    close->n = 0;
    for (int s = 0; s < room->seen.n; s++) {
        const int i = room->seen.index[s];
        if (needed(end, i) || fabs(end->first[i] - a->corner) < room->window) close->index[close->n++] = i;
    }
    gather(close, a->k, a->p, a->x);
}

/* the end with better multipliers */
static int correct(const Problem *a, const Point *now, End *end, Room *room) {
    const Set *band = &room->band;
    double *new = room->c;
    int kept, code = SOLVED;
    if (!end->corrected) choose_close(a, end, room);
    if (choose_band(a, end, room, &kept))
        for (int i = 0; i < band->n; i++) {
            const int at = band->index[i];
            new[i] = end->m[at] > a->corner ? end->low[at] : end->high[at];
        }
    else
        code = multipliers(a, now, end, room, kept, new);
    if (code != SOLVED) return code;
    for (int i = 0; i < band->n; i++) {
        const int at = band->index[i];
        const double before = end->q[at];
        end->q[at] = new[i];
        new[i] = a->y[at] * (new[i] - before) / 2;
    }
    add_field(a, room, band, new, now->u, end->mean);
    add_field(a, room, band, new, room->far, end->mean);
    go(a, now, end);
    margins_behind(a, room, &room->close, end);
    end->corrected = 1;
    return SOLVED;
}

/* the bounds of the mean multipliers: a point that crosses after a share of the step was pushed during that share */
static void corner_bounds(const Problem *a, const Point *now, End *end, const Set *seen) {
    for (int s = 0; s < seen->n; s++) {
        const int i = seen->index[s];
        const double below = a->corner - now->m[i], path = end->m[i] - now->m[i];
        const int crosses = below * (a->corner - end->m[i]) < 0 && fabs(below) > a->apart * a->tolerance;
        const double share = crosses ? below / path : 0;
        end->low[i] = below > 0 ? share : 0;
        end->high[i] = below < 0 ? 1 - share : 1;
    }
}

/* the largest violation of the equations; infinite where the step is refused unsolved */
static double violations(const Problem *a, const Point *now, End *end, const Room *room) {
    double most = 0, own = 0;
    for (int s = 0; s < room->seen.n; s++) {
        const int i = room->seen.index[s];
        const double above = end->m[i] - a->corner;
        end->wrong[i] = (above > 0 ? end->q[i] > end->low[i] : end->q[i] < end->high[i]) ? fabs(above) : 0;
        const double part = fmin(end->wrong[i], fabs(above + a->corner - now->m[i]));
        if (!isfinite(end->m[i]) || !isfinite(part)) return INFINITY;
        most = fmax(most, end->wrong[i]), own = fmax(own, part);
    }
    return own > a->hopeless * room->allowed ? INFINITY : most;
}

/* how far the points of a set moved from the first pass, in allowed errors */
static double moved(const End *end, const Set *set, const Room *room) {
    double most = 0;
    for (int s = 0; s < set->n; s++) most = fmax(most, fabs(end->m[set->index[s]] - end->first[set->index[s]]));
    return most / (2 * room->allowed);
}

/* the end without corrections, at the points that this step may bring to the corner */
static void first_pass(const Problem *a, const Point *now, End *end, Room *room) {
    const size_t size = sizeof(double) * a->h * a->k, points = sizeof(double) * a->p;
    Set *seen = &room->seen;
    seen->n = 0;
    for (int i = 0; i < a->p; i++)
        if (room->early || !(now->until[i] > now->drift + room->foreseen)) seen->index[seen->n++] = i;
    gather(seen, a->k, a->p, a->x);
    memcpy(end->open, end->u, size);
    memcpy(end->first, now->m, points);
    own_margins(a, room, seen, end->u, end->beta, end->first);
    memcpy(end->m, end->first, points);
    memcpy(end->q, now->q, points);
    end->error = 0, end->corrected = 0;
    corner_bounds(a, now, end, seen);
}

/* the end at which the equations hold, or its error; 0 where the reference has to look at it */
static int solve(const Problem *a, const Point *now, End *end, Room *room) {
    first_pass(a, now, end, room);
    for (int round = 0;; round++) {
        const double most = violations(a, now, end, room);
        if (isinf(most)) end->error = INFINITY;
        if (isinf(most) || !(most > a->kkt * a->tolerance)) break;
        if (round == a->rounds) {
            end->error = a->far;
            return 1;
        }
        const int code = correct(a, now, end, room);
        if (code == FAILED) return 0;
        if (code == SHORTER) {
            end->error = a->far;
            return 1;
        }
        end->error = moved(end, &room->close, room);
        if (!(end->error < a->far)) break;
    }
    if (room->early && end->corrected && isfinite(end->error)) {
        margins_behind(a, room, &room->seen, end);
        end->error = moved(end, &room->seen, room);
    }
    return 1;
}

/* ---- the step, step.py ---- */

/* weights at the end of the step (far), its mean G, and the error of the weights, in tolerances */
static double predict(const Problem *a, const Point *now, End *end, Room *room) {
    const double ratio = now->dt / (2 * now->past_dt);
    double *guess = room->G, bent = 0, weights = 0;
    for (int i = 0; i < a->h * a->k; i++) guess[i] = now->push[i] + ratio * (now->push[i] - now->before[i]);
    rotate(a, now->u, now->beta, guess, now->dt, room->far, end->beta);
    push_of(a, room, room->far, now->q, end->mean);
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

/* the margins of the new weights, and the error there of the points that matter */
static double own_error(const Problem *a, const Room *room, End *end) {
    double most = 0;
    own_margins(a, room, &room->seen, end->u, end->beta, end->m);
    for (int s = 0; s < room->seen.n; s++) {
        const int i = room->seen.index[s];
        const int matters = fmin(end->first[i], end->m[i]) < a->corner + room->window;
        if (matters) most = fmax(most, fabs(end->m[i] - end->first[i]));
    }
    return most / (2 * room->allowed);
}

/* until when the points that were seen need not be seen again */
static void screen(const Problem *a, const Point *now, Point *after, const End *end, const Room *room) {
    const double away = a->corner + (2 * a->margin_share + a->band) * a->tolerance;
    const Set *seen = &room->seen;
    memcpy(after->until, now->until, sizeof(double) * a->p);
    after->drift = now->drift + end->move;
    after->stale = a->p - seen->n;
    for (int s = 0; s < seen->n; s++) {
        const int i = seen->index[s];
        double square = 0;
        for (int j = 0; j < a->k; j++) square += seen->x[(size_t)j * seen->stride + s] * seen->x[(size_t)j * seen->stride + s];
        after->until[i] = end->q[i] == 0 && end->m[i] > away ? after->drift + (end->m[i] - away) / sqrt(square) : 0;
    }
}

/* the field at the end of an accepted step, and the longest next step */
static double land(const Problem *a, Room *room, Point *after) {
    double longest = 0;
    push_of(a, room, after->u, after->q, after->push);
    for (int n = 0; n < a->h; n++) {
        double square = 0;
        for (int i = n * a->k; i < (n + 1) * a->k; i++) {
            square += after->push[i] * after->push[i];
            after->before[i] = 2 * after->mean[i] - after->push[i];
        }
        longest = fmax(longest, square);
    }
    after->pushed = longest != 0;
    return a->reach / fmax(sqrt(longest), 1e-300);
}

/* the error of an attempted step, in tolerances; negative where the reference has to look at it */
static double attempt(const Problem *a, const Point *now, End *end, Room *room, double foreseen) {
    const double predicted = predict(a, now, end, room);
    if (!(predicted <= 1)) return predicted;
    end->move = 0;
    go(a, now, end);
    room->foreseen = foreseen * end->move;
    if (!solve(a, now, end, room)) return -1;
    if (end->corrected && end->error <= 1) {
        const double own = own_error(a, room, end);
        if (!room->early) end->error = fmax(end->error, own);
    }
    return fmax(predicted, end->error);
}

/* the arrays of an attempt in one piece; NULL without memory */
static double *furnish(const Problem *a, Room *room) {
    const size_t size = (size_t)a->h * a->k, p = whole(a->p), inputs = a->k * p;
    double *all = malloc(sizeof(double) * (4 * size + 6 * p + 3 * inputs + 2 * (size_t)TILE * a->k));
    int *index = malloc(sizeof(int) * 3 * p);
    if (!all || !index) {
        free(all), free(index);
        return NULL;
    }
    room->far = all, room->slope = all + size, room->G = all + 2 * size, room->open = all + 3 * size;
    double *points = all + 4 * size, *x = points + 6 * p;
    room->c = points, room->f = points + p, room->first = points + 2 * p, room->low = points + 3 * p;
    room->high = points + 4 * p, room->wrong = points + 5 * p;
    room->seen = (Set){0, 0, index, x}, room->close = (Set){0, 0, index + p, x + inputs};
    room->band = (Set){0, 0, index + 2 * p, x + 2 * inputs};
    room->rows = x + 3 * inputs;
    return all;
}

static int satisfied_of(const Problem *a, const double *m) {
    int count = 0;
    for (int i = 0; i < a->p; i++) count += m[i] >= 1;
    return count;
}

static void describe(const Problem *a, Point *at) {
    at->satisfied = satisfied_of(a, at->m);
    at->largest = -INFINITY;
    at->finite = 1;
    for (int i = 0; i < a->p; i++) {
        at->largest = fmax(at->largest, at->m[i]);
        at->finite &= isfinite(at->m[i]) != 0;
    }
}

/* One attempted step: `after` is filled where it moved, and after->dt in any case. */
static int advance(const Problem *a, const Point *now, Point *after) {
    Room room;
    double error, foreseen = FORESEEN, *all = furnish(a, &room);
    if (!all) return ELSEWHERE;
    room.early = (double)satisfied_of(a, now->m) / a->p < a->early;
    room.allowed = (room.early ? a->early_share : a->margin_share) * a->tolerance;
    room.window = 2 * room.allowed + a->band * a->tolerance;
    End end = {after->u, after->beta, after->m, after->q, after->mean, room.open, room.first, room.low, room.high, room.wrong, 0, 0, 0};
    do {
        error = attempt(a, now, &end, &room, foreseen);
        foreseen *= 4;
    } while (error >= 0 && error <= 1 && end.move > room.foreseen);
    const double wish = a->safety / sqrt(error), factor = isnan(wish) ? a->shrink : fmin(fmax(wish, a->shrink), a->grow);
    const int code = error < 0 ? ELSEWHERE : error <= 1 ? MOVED : REFUSED;
    after->dt = now->dt * (code == MOVED ? factor : fmin(factor, a->refused));
    if (code == MOVED) {
        after->past_dt = now->dt;
        describe(a, after);
        screen(a, now, after, &end, &room);
        after->dt = fmin(after->dt, land(a, &room, after));
    }
    free(all), free(room.seen.index);
    return code;
}

/* Up to `most` attempted steps, until all points are satisfied: the number of those that moved, each in its place of
   `after`, and the length dt of the next one; -1 where the reference has to look at the first one. */
int walk(const Problem *a, const Point *now, Point *after, int most, double *dt) {
    Point here = *now;
    int steps = 0;
    for (int tries = 0; tries < most; tries++) {
        Point *end = after + steps;
        const int code = advance(a, &here, end);
        if (code == ELSEWHERE) return tries ? steps : -1;
        *dt = here.dt = end->dt;
        if (code == REFUSED) continue;
        here = *end;
        steps++;
        if (end->satisfied == a->p) break;
    }
    return steps;
}

/* how many threads share the work of this thread's next calls, at most */
void use(int count) { threads = count; }

/* ---- products alone ---- */

static int set_of(Set *set, int p, int k, const double *x) {
    *set = (Set){p, 0, malloc(sizeof(int) * p), malloc(sizeof(double) * k * whole(p))};
    if (!set->index || !set->x) return 0;
    for (int i = 0; i < p; i++) set->index[i] = i;
    gather(set, k, p, x);
    return 1;
}

static void drop(Set *set) { free(set->index), free(set->x); }

/* f (p) = sum_n [open_n x_i > 0] slope_n x_i for inputs x (k, p); 0 without memory */
int pair_outputs(int p, int h, int k, const double *x, const double *open, const double *slope, double *f) {
    Set set;
    double *all = malloc(sizeof(double) * whole(p));
    const int fine = set_of(&set, p, k, x) && all;
    if (fine) {
        outputs(&set, h, k, open, slope, all);
        memcpy(f, all, sizeof(double) * p);
    }
    free(all), drop(&set);
    return fine;
}

/* the margins (p) of a network, to the same bits as those of a step; 0 without memory */
int pair_margins(int p, int h, int k, const double *x, const double *u, const double *beta, const double *y, const double *base, double alpha, double gain, double *m) {
    Set set;
    Problem a = {.h = h, .k = k, .p = p, .alpha = alpha, .gain = gain, .y = y, .base = base};
    Room room = {.f = malloc(sizeof(double) * whole(p))};
    const int fine = set_of(&set, p, k, x) && room.f;
    if (fine) own_margins(&a, &room, &set, u, beta, m);
    free(room.f), drop(&set);
    return fine;
}

/* G (h, k) = scale sum_i [u_n x_i > 0] c_i x_i for inputs x (k, p); 0 without memory */
int pair_field(int p, int h, int k, const double *x, const double *c, const double *u, double scale, double *G) {
    Set set;
    double *rows = malloc(sizeof(double) * 2 * (size_t)TILE * k);
    const int fine = set_of(&set, p, k, x) && rows;
    memset(G, 0, sizeof(double) * h * k);
    if (fine) field(&set, h, k, c, u, scale, G, rows);
    free(rows), drop(&set);
    return fine;
}
