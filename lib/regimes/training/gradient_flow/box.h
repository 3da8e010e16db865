/* The box problem of training/implicit.py: min q'Hq/2 - b'q over 0 <= q <= 1, by the same method, for a matrix H. */

#define ROUNDS 200
#define PATIENCE 3
#define VARIABLES 100
#define SWEEPS 2
#define GUESSES 6
#define RIDGE 1e-13
#define RIDGES 8
#define TINY 1e-300

typedef void (*Solver)(const char *, const int *, const int *, double *, const int *, double *, const int *, int *);

typedef struct {
    int n, *free;
    const double *H, *b;
    double *diagonal, *matrix, *right;
    Solver dposv;
} Box;

INLINE double inside(double q) { return fmin(fmax(q, 0), 1); }

/* whether a step down the gradient can move a variable */
INLINE int movable(double q, double g) { return g > 0 ? q > 0 : q < 1; }

static double violation(int n, const double *q, const double *g) {
    double most = 0;
    for (int i = 0; i < n; i++)
        if (movable(q[i], g[i]) && !(fabs(g[i]) <= most)) most = fabs(g[i]);
    return most;
}

/* g = H q - b; most of a bounded q is 0 and left out */
static void gradient(const Box *x, const double *q, double *g) {
    for (int i = 0; i < x->n; i++) g[i] = -x->b[i];
    for (int j = 0; j < x->n; j++) {
        const double *row = x->H + (size_t)j * x->n;
        if (q[j] == 0) continue;
        for (int i = 0; i < x->n; i++) g[i] += q[j] * row[i];
    }
}

/* the change of the objective from q to another point, twice, with the gradients there */
static double change(int n, const double *q, const double *g, const double *trial, const double *slope) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (trial[i] - q[i]) * (slope[i] + g[i]);
    return sum;
}

/* right -> solution for the n free variables, with the smallest ridge that makes the system definite; 0 if none does */
static int solved(const Box *x, int n) {
    double largest = TINY, added = 0, *keep = x->right + x->n;
    int one = 1, failed = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, x->H[(size_t)x->free[i] * x->n + x->free[i]]);
    double ridge = RIDGE * largest;
    memcpy(keep, x->right, sizeof(double) * n);
    for (int tries = 0; n && tries < RIDGES; tries++, ridge *= 100) {
        added += ridge;
        for (int i = 0; i < n; i++) {
            const double *row = x->H + (size_t)x->free[i] * x->n;
            for (int j = i; j < n; j++) x->matrix[(size_t)i * n + j] = row[x->free[j]];
            x->matrix[(size_t)i * n + i] += added;
        }
        x->dposv("L", &n, &one, x->matrix, &n, x->right, &n, &failed);
        if (!failed) return 1;
        memcpy(x->right, keep, sizeof(double) * n);
    }
    return !n;
}

/* the feasible point that a few rounds of active-set guessing lead to; 0 where no ridge makes a system definite */
static int candidate(const Box *x, double *guess, double *point) {
    for (int tries = 0; tries < GUESSES; tries++) {
        int n = 0, feasible = 1;
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
            feasible &= x->right[i] >= 0 && x->right[i] <= 1;
        }
        if (feasible) return 1;
    }
    for (int i = 0; i < x->n; i++) point[i] = inside(point[i]);
    return 1;
}

/* one move of the primal active-set method, to the minimum over the free variables or as far as the box allows */
static int pivot(const Box *x, double *q, double *g, double tolerance) {
    double most = 0, length = 1;
    int n = 0, worst = 0, hit = -1;
    for (int i = 0; i < x->n; i++)
        if (q[i] > 0 && q[i] < 1) most = fmax(most, fabs(g[i]));
    for (int i = 1; i < x->n; i++) {
        const double here = movable(q[i], g[i]) ? fabs(g[i]) : 0, there = movable(q[worst], g[worst]) ? fabs(g[worst]) : 0;
        if (here > there) worst = i;
    }
    for (int i = 0; i < x->n; i++)
        if ((q[i] > 0 && q[i] < 1) || (most <= 0.1 * tolerance && i == worst)) x->right[n] = -g[i], x->free[n++] = i;
    if (!solved(x, n)) return 0;
    for (int i = 0; i < n; i++) {
        const double move = x->right[i], at = q[x->free[i]];
        const double reach = (move > 0 ? 1 - at : at) / fmax(fabs(move), TINY);
        if (reach < length) length = reach, hit = i;
    }
    for (int i = 0; i < n; i++) {
        const int f = x->free[i];
        const double *row = x->H + (size_t)f * x->n;
        q[f] = i == hit ? (double)(x->right[i] > 0) : inside(q[f] + length * x->right[i]);
        for (int j = 0; j < x->n; j++) g[j] += length * x->right[i] * row[j];
    }
    return 1;
}

/* passes of coordinate descent over the coordinates that can move */
static void sweeps(const Box *x, double *q, double *g, int count) {
    while (count--) {
        int n = 0;
        for (int i = 0; i < x->n; i++)
            if (movable(q[i], g[i])) x->free[n++] = i;
        for (int at = 0; at < n; at++) {
            const int i = x->free[at];
            const double *row = x->H + (size_t)i * x->n;
            const double move = inside(q[i] - g[i] / x->diagonal[i]) - q[i];
            if (move == 0) continue;
            q[i] += move;
            for (int j = 0; j < x->n; j++) g[j] += move * row[j];
        }
    }
}

/* where active sets start from q: each variable at its own minimum */
static void guessed(int n, const double *q, const double *g, const double *diagonal, double *guess) {
    for (int i = 0; i < n; i++) guess[i] = q[i] - g[i] / diagonal[i];
}

static void minimise(const Box *x, double *q, double *g, double *trial, double *slope, double *guess, double tolerance, int *fine) {
    const int n = x->n;
    int refused = 0;
    for (int round = 0; round < ROUNDS + 4 * n && violation(n, q, g) > tolerance; round++) {
        if (refused > PATIENCE + n / VARIABLES) {
            if (!(*fine = pivot(x, q, g, tolerance))) return;
            continue;
        }
        guessed(n, q, g, x->diagonal, guess);
        if (!(*fine = candidate(x, guess, trial))) return;
        gradient(x, trial, slope);
        if (violation(n, trial, slope) <= tolerance || change(n, q, g, trial, slope) < 0) {
            memcpy(q, trial, sizeof(double) * n);
            memcpy(g, slope, sizeof(double) * n);
        } else
            sweeps(x, q, g, SWEEPS + refused++);
    }
}

/* q -> the minimiser; 0 where no ridge makes a system definite, or without memory */
static int box_qp(int n, const double *H, const double *b, double *q, double tolerance, Solver dposv) {
    double *room = malloc(sizeof(double) * (8 * (size_t)n + (size_t)n * n)), largest = TINY;
    int *free_ = malloc(sizeof(int) * (n + 1)), fine = room && free_;
    if (fine) {
        double *g = room, *trial = room + n, *slope = room + 2 * (size_t)n, *guess = room + 3 * (size_t)n;
        Box x = {n, free_, H, b, room + 4 * (size_t)n, room + 8 * (size_t)n, room + 5 * (size_t)n, dposv};
        for (int i = 0; i < n; i++) largest = fmax(largest, H[(size_t)i * n + i]);
        for (int i = 0; i < n; i++) x.diagonal[i] = fmax(H[(size_t)i * n + i], RIDGE * largest), q[i] = inside(q[i]);
        gradient(&x, q, g);
        minimise(&x, q, g, trial, slope, guess, tolerance, &fine);
    }
    free(room), free(free_);
    return fine;
}
