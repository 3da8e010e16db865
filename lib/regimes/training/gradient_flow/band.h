/* The multipliers of a band of points, implicit.py: their box problem, with the Gram matrix of the step

       A_il = 2 alpha dt / (h^2 p) y_i y_l sum_n [open_n x_i > 0] [open_n x_l > 0] (u_n x_i u_n x_l + beta_n^2 x_i x_l).

   A small band forms A. A large one, after many points have crossed the corner at once, needs only products A v, which are
   the outputs of a field (8 n h k operations), and the block of the few multipliers that are free. */

#define FREE 200         /* points of a band above which A is not formed */
#define FREE_MOST 900    /* free multipliers above which a shorter step is cheaper, unless as many are held anyway */
#define FREE_ROUNDS 60   /* candidates */
#define FREE_EXACT 0.1   /* of KKT: how exactly; a candidate costs more here, and the next forward pass corrects it */
#define SHORTER_DT 0.25  /* of the last step: the least length down to which a large band shortens a step */
#define WHOLE 256        /* points of a Gram matrix above which it is summed in blocks, which threads share */
#define BLOCK 64         /* points of a block */
#define PRODUCTS 8       /* of a block, in the time of a pair of a sum */
#define FEATURES 131072  /* entries of a matrix of features that is held at once */

typedef struct { /* as in compiled.py; arrays row-major, x (k, p) */
    int h, k, p;
    double alpha, tolerance, corner, gain;
    const double *x, *y, *base;
    double early, early_share, margin_share, safety, grow, shrink, refused, reach;
    double kkt, exact, definite, band, apart, hopeless, far;
    int rounds, large_band, largest;
    void (*dsyrk)(const char *, const char *, const int *, const int *, const double *, const double *, const int *, const double *, double *, const int *);
    void (*dgemm)(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *, const double *, const int *, const double *, double *, const int *);
    Solver dposv;
} Problem;

enum { FAILED, SOLVED, SHORTER };

/* diag(width) A diag(width) for the points of a set */
typedef struct {
    const Problem *a;
    const Set *set;
    const double *open, *u, *beta; /* gates of the first pass, weights */
    double scale, *signs, *width;  /* of A; y and the widths of the boxes */
    double *c, *f, *G, *slope, *rows; /* room */
} Kernel;

/* out = diag(width) A diag(width) v, without A */
static void apply(const Kernel *A, const double *v, double *out) {
    const int n = A->set->n, h = A->a->h, k = A->a->k;
    for (int i = 0; i < n; i++) A->c[i] = A->signs[i] * A->width[i] * v[i];
    memset(A->G, 0, sizeof(double) * h * k);
    field(A->set, h, k, A->c, A->open, 1, A->G, A->rows);
    for (int r = 0; r < h; r++) {
        const double *u = A->u + (size_t)r * k, *g = A->G + (size_t)r * k, square = A->beta[r] * A->beta[r];
        double along = 0;
        for (int j = 0; j < k; j++) along += u[j] * g[j];
        for (int j = 0; j < k; j++) A->slope[(size_t)r * k + j] = u[j] * along + square * g[j];
    }
    outputs(A->set, h, k, A->open, A->slope, A->f);
    for (int i = 0; i < n; i++) out[i] = A->scale * A->signs[i] * A->width[i] * A->f[i];
}

static void diagonal_of(const Kernel *A, double *diagonal) {
    squares(A->set, A->a->h, A->a->k, A->open, A->u, A->beta, A->f);
    for (int i = 0; i < A->set->n; i++) diagonal[i] = A->scale * A->width[i] * A->width[i] * A->f[i];
}

typedef struct {
    const Problem *a;
    int n, many, stride, size, blocks;
    const double *x;
    double *matrix;
} Squares;

static void blocks_of(const void *work, int from, int to) {
    const Squares *s = work;
    const double one = 1;
    for (int pair = from; pair < to; pair++) {
        const int i = pair % s->blocks * s->size, l = pair / s->blocks * s->size;
        const int rows = s->n - i < s->size ? s->n - i : s->size, columns = s->n - l < s->size ? s->n - l : s->size;
        double *block = s->matrix + (size_t)l * s->n + i;
        if (i == l)
            s->a->dsyrk("U", "N", &rows, &s->many, &one, s->x + i, &s->stride, &one, block, &s->n);
        else if (i < l)
            s->a->dgemm("N", "T", &rows, &columns, &s->many, &one, s->x + i, &s->stride, s->x + l, &s->stride, &one, block, &s->n);
    }
}

/* the upper triangle of matrix (n, n) += x'x, x (many, stride) */
static void add_squares(const Problem *a, int n, int many, const double *x, int stride, double *matrix) {
    const int size = n > WHOLE ? BLOCK : n, blocks = (n + size - 1) / size;
    const Squares squares = {a, n, many, stride, size, blocks, x, matrix};
    share(blocks_of, &squares, blocks * blocks, (double)n * n * many > PRODUCTS * WORTH);
}

/* matrix (n, n) = diag(width) A diag(width), definite to the precision of the flow; 0 without memory */
static int gram(const Kernel *A, double *matrix) {
    const Set *set = A->set;
    if (!set->n) return 1;
    const int n = set->n, h = A->a->h, k = A->a->k, most = FEATURES / set->stride + 64, tile = most < h ? most : h;
    double *room = malloc(sizeof(double) * (2 * (size_t)tile * set->stride + (size_t)n * n + n));
    if (!room) return 0;
    double *hidden = room, *opened = room + (size_t)tile * set->stride, *gates = room + 2 * (size_t)tile * set->stride, *products = gates + (size_t)n * n;
    memset(matrix, 0, sizeof(double) * n * n), memset(gates, 0, sizeof(double) * n * n);
    for (int first = 0; first < h; first += tile) {
        const int many = h - first < tile ? h - first : tile;
        const size_t at = (size_t)first * k;
        features(set, many, k, A->open + at, A->u + at, A->beta + first, hidden, opened);
        add_squares(A->a, n, many, hidden, set->stride, matrix);
        add_squares(A->a, n, many, opened, set->stride, gates);
    }
    for (int i = 0; i < n; i++) {
        for (int l = 0; l <= i; l++) products[l] = 0;
        for (int j = 0; j < k; j++) {
            const double *x = set->x + (size_t)j * set->stride;
            for (int l = 0; l <= i; l++) products[l] += x[i] * x[l];
        }
        const double own = A->scale * A->signs[i] * A->width[i];
        for (int l = 0; l <= i; l++) {
            const double value = matrix[(size_t)i * n + l] + products[l] * gates[(size_t)i * n + l];
            matrix[(size_t)i * n + l] = matrix[(size_t)l * n + i] = own * A->signs[l] * A->width[l] * value;
        }
        matrix[(size_t)i * n + i] *= 1 + A->a->definite * 2.220446049250313e-16;
    }
    free(room);
    return 1;
}

/* the variables `free_` of a candidate, the others at the bounds in `trial`; `fixed` is A times these bounds */
static int free_block(const Kernel *A, int m, const int *free_, const double *b, const double *fixed, double *trial, double tolerance) {
    const int k = A->a->k, stride = whole(m);
    double *room = malloc(sizeof(double) * ((size_t)m * m + (size_t)k * stride + 4 * (size_t)m));
    int *index = malloc(sizeof(int) * (m + 1)), fine = room && index;
    if (fine) {
        double *matrix = room, *right = room + (size_t)m * m, *part = right + m, *signs = part + m, *width = signs + m;
        Set set = {m, stride, index, width + m};
        Kernel block = *A;
        block.set = &set, block.signs = signs, block.width = width;
        for (int i = 0; i < m; i++) {
            index[i] = free_[i];
            signs[i] = A->signs[free_[i]], width[i] = A->width[free_[i]];
            right[i] = b[free_[i]] - fixed[free_[i]], part[i] = trial[free_[i]];
        }
        gather(&set, k, A->set->stride, A->set->x);
        fine = gram(&block, matrix) && box_qp(m, matrix, right, part, tolerance, A->a->dposv);
        for (int i = 0; i < m; i++) trial[free_[i]] = part[i];
    }
    free(room), free(index);
    return fine;
}

/* `count` projected steps along the scaled gradient, each as long as lowers the objective most */
static void descents(const Kernel *A, const double *diagonal, double *q, double *g, double *move, double *bent, int count) {
    const int n = A->set->n;
    while (count--) {
        double down = 0, curved = 0;
        for (int i = 0; i < n; i++) move[i] = inside(q[i] - g[i] / diagonal[i]) - q[i], down -= g[i] * move[i];
        apply(A, move, bent);
        for (int i = 0; i < n; i++) curved += move[i] * bent[i];
        const double length = fmin(1, down / fmax(curved, TINY));
        for (int i = 0; i < n; i++) {
            const double target = inside(q[i] - g[i] / diagonal[i]);
            q[i] = length == 1 ? target : q[i] + length * move[i];
            g[i] += length * bent[i];
        }
    }
}

/* the lowest point between q and a candidate that does not lower the objective: no product */
static void between(int n, double *q, double *g, const double *trial, const double *slope) {
    double down = 0, curved = 0;
    for (int i = 0; i < n; i++) {
        down -= g[i] * (trial[i] - q[i]);
        curved += (trial[i] - q[i]) * (slope[i] - g[i]);
    }
    if (!(down > 0 && curved > 0)) return;
    const double length = fmin(1, down / curved);
    for (int i = 0; i < n; i++) {
        q[i] = inside(q[i] + length * (trial[i] - q[i]));
        g[i] += length * (slope[i] - g[i]);
    }
}

/* q -> the minimiser, from products with A and the block of the free variables; `held`: of them at the step's beginning */
static int free_box_qp(const Kernel *A, const double *b, double *q, int held, double tolerance) {
    const int n = A->set->n;
    double *room = malloc(sizeof(double) * 6 * n), largest = TINY;
    int *free_ = malloc(sizeof(int) * n), refused = 0, code = room && free_ ? SOLVED : FAILED;
    if (code == FAILED) {
        free(room), free(free_);
        return code;
    }
    double *g = room, *trial = room + n, *slope = room + 2 * n, *guess = room + 3 * n, *diagonal = room + 4 * n, *fixed = room + 5 * n;
    diagonal_of(A, diagonal);
    for (int i = 0; i < n; i++) largest = fmax(largest, diagonal[i]), q[i] = inside(q[i]);
    for (int i = 0; i < n; i++) diagonal[i] = fmax(diagonal[i], RIDGE * largest);
    apply(A, q, g);
    for (int i = 0; i < n; i++) g[i] -= b[i];
    for (int round = 0; violation(n, q, g) > tolerance; round++) {
        int m = 0;
        guessed(n, q, g, diagonal, guess);
        for (int i = 0; i < n; i++) {
            trial[i] = guess[i] >= 1;
            if (guess[i] > 0 && guess[i] < 1) free_[m++] = i;
        }
        if (round > FREE_ROUNDS || (m > FREE_MOST && m > 2 * held)) code = SHORTER;
        else if (m > A->a->largest) code = FAILED;
        if (code != SOLVED) break;
        apply(A, trial, fixed);
        for (int i = 0; i < m; i++) trial[free_[i]] = guess[free_[i]];
        if (!free_block(A, m, free_, b, fixed, trial, tolerance)) code = FAILED;
        if (code != SOLVED) break;
        apply(A, trial, slope);
        for (int i = 0; i < n; i++) slope[i] -= b[i];
        if (violation(n, trial, slope) <= tolerance || change(n, q, g, trial, slope) < 0) {
            memcpy(q, trial, sizeof(double) * n), memcpy(g, slope, sizeof(double) * n);
        } else {
            between(n, q, g, trial, slope);
            descents(A, diagonal, q, g, trial, slope, ++refused);
        }
    }
    free(room), free(free_);
    return code;
}
