/* Sums over all pairs of neurons and points, in vectors of points or of neurons; no array has an entry for a pair.

   A gate [u_n x_i > 0] costs k multiplications to find again, less than to fetch from memory. So the inputs of some points
   (or the weights of some neurons) stay in registers while all neurons (all points) pass by. Threads share what is not
   summed over, so that a sum has the same bits on any number of them. */

#if defined(__AVX512F__)
#define V 8
#elif defined(__AVX__)
#define V 4
#else
#define V 2
#endif
#define MOST 128 /* inputs of a neuron */
#define TILE 1024 /* points that pass by a vector of neurons from the nearest cache */
#define WORTH 100000 /* pairs of a sum from which threads save more than they cost */
#define INLINE static inline __attribute__((always_inline))
typedef double vec __attribute__((vector_size(8 * V)));
typedef long long bits __attribute__((vector_size(8 * V)));

/* Some points: their numbers `index` and their inputs x, (k, stride), padded with zeros to whole vectors. */
typedef struct {
    int n, stride, *index;
    double *x;
} Set;

INLINE int whole(int n) { return (n + V - 1) / V * V; }

INLINE vec load(const double *x) {
    vec v;
    memcpy(&v, x, sizeof v);
    return v;
}

INLINE void store(double *x, vec v) { memcpy(x, &v, sizeof v); }

INLINE vec where(bits on, vec v) { return (vec)((bits)v & on); }

/* the inputs of the points that `index` names, out of x (k, p) */
static void gather(Set *set, int k, int p, const double *x) {
    set->stride = whole(set->n);
    for (int j = 0; j < k; j++) {
        double *row = set->x + (size_t)j * set->stride;
        for (int i = 0; i < set->n; i++) row[i] = x[(size_t)j * p + set->index[i]];
        for (int i = set->n; i < set->stride; i++) row[i] = 0;
    }
}

/* f_i = sum_n [open_n x_i > 0] slope_n x_i: 4k + 1 operations a pair */
INLINE void outputs_k(const Set *set, int h, const double *open, const double *slope, double *f, int b, const int k) {
    vec in[MOST], sum = {0};
    for (int j = 0; j < k; j++) in[j] = load(set->x + (size_t)j * set->stride + b);
    for (int n = 0; n < h; n++) {
        const double *o = open + (size_t)n * k, *s = slope + (size_t)n * k;
        vec z = o[0] * in[0], value = s[0] * in[0];
        for (int j = 1; j < k; j++) z += o[j] * in[j], value += s[j] * in[j];
        sum += where(z > 0, value);
    }
    store(f + b, sum);
}

/* f_i = sum_n beta_n max(0, u_n x_i), where the gates are the network's own: 2k + 2 operations a pair */
INLINE void own_outputs_k(const Set *set, int h, const double *u, const double *beta, double *f, int b, const int k) {
    vec in[MOST], sum = {0};
    for (int j = 0; j < k; j++) in[j] = load(set->x + (size_t)j * set->stride + b);
    for (int n = 0; n < h; n++) {
        const double *w = u + (size_t)n * k;
        vec z = w[0] * in[0];
        for (int j = 1; j < k; j++) z += w[j] * in[j];
        sum += beta[n] * where(z > 0, z);
    }
    store(f + b, sum);
}

/* G (h, k) += scale sum_i [u_n x_i > 0] c_i x_i, for the V neurons from `first` on: 4k operations a pair.
   `rows` holds x_i and c_i x_i of each of the n points. */
INLINE void field_k(int n, const double *rows, int h, const double *u, double scale, double *G, int first, const int k) {
    const bits one = (bits)(1.0 - (vec){0});
    const int many = h - first < V ? h - first : V;
    vec w[MOST], sum[MOST];
    for (int j = 0; j < k; j++) {
        w[j] = sum[j] = (vec){0};
        for (int i = 0; i < many; i++) w[j][i] = u[(size_t)(first + i) * k + j];
    }
    for (int i = 0; i < n; i++) {
        const double *row = rows + (size_t)i * 2 * k;
        vec z = row[0] * w[0];
        for (int j = 1; j < k; j++) z += row[j] * w[j];
        const vec gate = (vec)(one & (z > 0));
        for (int j = 0; j < k; j++) sum[j] += gate * row[k + j];
    }
    for (int j = 0; j < k; j++)
        for (int i = 0; i < many; i++) G[(size_t)(first + i) * k + j] += scale * sum[j][i];
}

/* d_i = sum_n [open_n x_i > 0] ((u_n x_i)^2 + beta_n^2 |x_i|^2): the squared norm of a point's gradient */
INLINE void squares_k(const Set *set, int h, const double *open, const double *u, const double *beta, double *d, int b, const int k) {
    vec in[MOST], sum = {0}, norm = {0};
    for (int j = 0; j < k; j++) in[j] = load(set->x + (size_t)j * set->stride + b), norm += in[j] * in[j];
    for (int n = 0; n < h; n++) {
        const double *o = open + (size_t)n * k, *w = u + (size_t)n * k;
        vec z = o[0] * in[0], value = w[0] * in[0];
        for (int j = 1; j < k; j++) z += o[j] * in[j], value += w[j] * in[j];
        sum += where(z > 0, value * value + beta[n] * beta[n] * norm);
    }
    store(d + b, sum);
}

/* [open_n x_i > 0] u_n x_i and [open_n x_i > 0] beta_n of `many` neurons: two matrices (many, stride) */
INLINE void features_k(const Set *set, int many, const double *open, const double *u, const double *beta, double *hidden, double *opened, int b, const int k) {
    vec in[MOST];
    for (int j = 0; j < k; j++) in[j] = load(set->x + (size_t)j * set->stride + b);
    for (int n = 0; n < many; n++) {
        const double *o = open + (size_t)n * k, *w = u + (size_t)n * k;
        vec z = o[0] * in[0], value = w[0] * in[0];
        for (int j = 1; j < k; j++) z += o[j] * in[j], value += w[j] * in[j];
        store(hidden + (size_t)n * set->stride + b, where(z > 0, value));
        store(opened + (size_t)n * set->stride + b, where(z > 0, beta[n] - (vec){0}));
    }
}

/* each function for the dimensions of the chapters, unrolled, and for any other */
#define EACH(k, call) \
    switch (k) { \
        case 2: call(2); break; case 3: call(3); break; case 4: call(4); break; case 5: call(5); break; \
        case 6: call(6); break; case 7: call(7); break; case 11: call(11); break; case 21: call(21); break; \
        default: call(k); }

typedef struct { /* arguments of a sum: of the points of a set, or of n of them in rows */
    const Set *set;
    int n, h, k;
    const double *rows, *open, *u, *beta;
    double scale, *f, *hidden, *opened, *G;
} Sum;

#define FOR_POINTS(call) \
    for (int b = from * V; b < to * V; b += V) EACH(s->k, call)

static void outputs_part(const void *work, int from, int to) {
    const Sum *s = work;
#define call(K) outputs_k(s->set, s->h, s->open, s->u, s->f, b, K)
    FOR_POINTS(call)
#undef call
}

static void outputs(const Set *set, int h, int k, const double *open, const double *slope, double *f) {
    const Sum sum = {.set = set, .h = h, .k = k, .open = open, .u = slope, .f = f};
    share(outputs_part, &sum, set->stride / V, (double)set->n * h > WORTH);
}

static void own_outputs_part(const void *work, int from, int to) {
    const Sum *s = work;
#define call(K) own_outputs_k(s->set, s->h, s->u, s->beta, s->f, b, K)
    FOR_POINTS(call)
#undef call
}

static void own_outputs(const Set *set, int h, int k, const double *u, const double *beta, double *f) {
    const Sum sum = {.set = set, .h = h, .k = k, .u = u, .beta = beta, .f = f};
    share(own_outputs_part, &sum, set->stride / V, (double)set->n * h > WORTH);
}

static void squares_part(const void *work, int from, int to) {
    const Sum *s = work;
#define call(K) squares_k(s->set, s->h, s->open, s->u, s->beta, s->f, b, K)
    FOR_POINTS(call)
#undef call
}

static void squares(const Set *set, int h, int k, const double *open, const double *u, const double *beta, double *d) {
    const Sum sum = {.set = set, .h = h, .k = k, .open = open, .u = u, .beta = beta, .f = d};
    share(squares_part, &sum, set->stride / V, (double)set->n * h > WORTH);
}

static void features_part(const void *work, int from, int to) {
    const Sum *s = work;
#define call(K) features_k(s->set, s->h, s->open, s->u, s->beta, s->hidden, s->opened, b, K)
    FOR_POINTS(call)
#undef call
}

static void features(const Set *set, int many, int k, const double *open, const double *u, const double *beta, double *hidden, double *opened) {
    const Sum sum = {.set = set, .h = many, .k = k, .open = open, .u = u, .beta = beta, .hidden = hidden, .opened = opened};
    share(features_part, &sum, set->stride / V, (double)set->n * many > WORTH);
}

static void field_part(const void *work, int from, int to) {
    const Sum *s = work;
#define call(K) field_k(s->n, s->rows, s->h, s->u, s->scale, s->G, first, K)
    for (int first = from * V; first < to * V; first += V) EACH(s->k, call)
#undef call
}

/* G (h, k) += scale sum_i [u_n x_i > 0] c_i x_i over the points of a set with c_i != 0; room for TILE rows of 2k */
static void field(const Set *set, int h, int k, const double *c, const double *u, double scale, double *G, double *rows) {
    for (int i = 0; i < set->n;) {
        int many = 0;
        for (; i < set->n && many < TILE; i++) {
            if (c[i] == 0) continue;
            double *row = rows + (size_t)many++ * 2 * k;
            for (int j = 0; j < k; j++) {
                row[j] = set->x[(size_t)j * set->stride + i];
                row[k + j] = c[i] * row[j];
            }
        }
        const Sum sum = {.n = many, .h = h, .k = k, .rows = rows, .u = u, .scale = scale, .G = G};
        share(field_part, &sum, whole(h) / V, (double)many * h > WORTH);
    }
}
