/* The compiled step under the compiler's sanitisers, with plain routines in place of BLAS and LAPACK: flows of many sizes
   in several threads, and inputs that no caller gives. test_sanitised.py compiles it with the constants of a step. */

#include <stdio.h>
#include "compiled.c"

#define STEPS 16

static void dsyrk(const char *uplo, const char *trans, const int *n, const int *k, const double *alpha, const double *a, const int *lda, const double *beta, double *c, const int *ldc) {
    (void)uplo, (void)trans;
    for (int j = 0; j < *n; j++)
        for (int i = 0; i <= j; i++) {
            double sum = 0;
            for (int l = 0; l < *k; l++) sum += a[(size_t)l * *lda + i] * a[(size_t)l * *lda + j];
            c[(size_t)j * *ldc + i] = *beta * c[(size_t)j * *ldc + i] + *alpha * sum;
        }
}

static void dgemm(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha, const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc) {
    (void)ta, (void)tb;
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *m; i++) {
            double sum = 0;
            for (int l = 0; l < *k; l++) sum += a[(size_t)l * *lda + i] * b[(size_t)l * *ldb + j];
            c[(size_t)j * *ldc + i] = *beta * c[(size_t)j * *ldc + i] + *alpha * sum;
        }
}

/* the lower triangle of a; Cholesky's method */
static void dposv(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda, double *b, const int *ldb, int *info) {
    (void)uplo, (void)nrhs, (void)ldb;
    *info = 0;
    for (int j = 0; j < *n; j++) {
        double *column = a + (size_t)j * *lda;
        for (int l = 0; l < j; l++)
            for (int i = j; i < *n; i++) column[i] -= a[(size_t)l * *lda + i] * a[(size_t)l * *lda + j];
        if (!(column[j] > 0)) {
            *info = j + 1;
            return;
        }
        const double root = sqrt(column[j]);
        for (int i = j; i < *n; i++) column[i] /= root;
        b[j] /= root;
        for (int i = j + 1; i < *n; i++) b[i] -= column[i] * b[j];
    }
    for (int j = *n - 1; j >= 0; j--) {
        for (int i = j + 1; i < *n; i++) b[j] -= a[(size_t)j * *lda + i] * b[i];
        b[j] /= a[(size_t)j * *lda + j];
    }
}

static _Thread_local unsigned long long state = 1;

static double drawn(void) { /* about normal */
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += (double)(state >> 40) / (1 << 24) - 0.5;
    }
    return 1.7 * sum;
}

static double *numbers(int n) {
    double *it = malloc(sizeof(double) * n);
    for (int i = 0; i < n; i++) it[i] = drawn();
    return it;
}

static Point room(const Problem *a) {
    const int size = a->h * a->k;
    Point it = {numbers(size), numbers(a->h), numbers(a->p), numbers(a->p), numbers(size), numbers(size), numbers(size), numbers(a->p), 0, 0, 0, 0, 0, 0, 0, 0};
    return it;
}

static void leave(Point *it) { free(it->u), free(it->beta), free(it->m), free(it->q), free(it->push), free(it->before), free(it->mean), free(it->until); }

/* the steps of a flow until its points are satisfied; `poisoned` names an array and its first number */
static int flow(int p, int h, int k, double alpha, int most, double *poisoned) {
    Problem a = {.h = h, .k = k, .p = p, .alpha = alpha, .tolerance = 0.02, .corner = 1.002, .gain = 1.4142135623730951, CONSTANTS, .dsyrk = dsyrk, .dgemm = dgemm, .dposv = dposv};
    double *x = numbers(k * p), *y = numbers(p), *base = numbers(p), *zero = calloc(p, sizeof(double)), *c = numbers(p);
    for (int i = 0; i < p; i++) x[(size_t)(k - 1) * p + i] = 1, y[i] = fabs(x[i]) > 0.3 ? 1 : -1;
    Point now = room(&a), ends[STEPS];
    for (int i = 0; i < STEPS; i++) ends[i] = room(&a);
    int made = pair_margins(p, h, k, x, now.u, now.beta, y, zero, 1, a.gain, base);
    double largest = 0;
    for (int i = 0; i < p; i++) now.m[i] = now.until[i] = 0, now.q[i] = 1, c[i] = y[i];
    made &= pair_field(p, h, k, x, c, now.u, a.gain / h / p, now.push);
    made &= pair_outputs(p, h, k, x, now.u, now.push, c);
    for (int i = 0; i < h * k; i++) now.before[i] = now.mean[i] = now.push[i], largest = fmax(largest, fabs(now.push[i]));
    a.x = x, a.y = y, a.base = base;
    now.past_dt = INFINITY, now.dt = 0.02 / fmax(largest, 1e-9) / fmax(alpha, 1);
    int steps = 0, calls = 0;
    double *const spoiled[] = {now.u, now.beta, now.m, now.q, now.push, now.before, x, base};
    if (poisoned) spoiled[(int)poisoned[0]][0] = poisoned[1];
    for (; made && steps < most && calls < most; calls++) {
        const int moved = walk(&a, &now, ends, 1 + calls % STEPS, &now.dt);
        if (moved < 0) break;
        if (!moved) continue;
        steps += moved;
        const Point kept = now;
        now = ends[moved - 1], ends[moved - 1] = kept;
        if (now.satisfied == p) break;
    }
    leave(&now);
    for (int i = 0; i < STEPS; i++) leave(ends + i);
    free(x), free(y), free(base), free(zero), free(c);
    return steps;
}

static void *beside(void *count) {
    use(2), state = 1;
    *(int *)count = flow(300, 40, 4, 1e-3, 60, NULL);
    return NULL;
}

int main(void) {
    const int sizes[][3] = {{2, 1, 2}, {3, 7, 1}, {5, 4, 128}, {9, 60, 3}, {64, 17, 5}, {100, 33, 8}, {257, 20, 6}, {700, 30, 4}, {1500, 90, 3}};
    const double poisons[] = {NAN, INFINITY, 1e308};
    int alone, counts[2];
    pthread_t others[2];
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        use(1 + i % 4);
        printf("p = %d, h = %d, k = %d: %d steps\n", sizes[i][0], sizes[i][1], sizes[i][2], flow(sizes[i][0], sizes[i][1], sizes[i][2], i % 2 ? 1e-3 : 1, MOST_STEPS, NULL));
    }
    use(1);
    for (int array = 0; array < 8; array++)
        for (int value = 0; value < 3; value++) flow(60, 20, 4, 1e-3, 80, (double[]){array, poisons[value]});
    state = 1, alone = flow(300, 40, 4, 1e-3, 60, NULL);
    for (int i = 0; i < 2; i++) pthread_create(others + i, NULL, beside, counts + i);
    for (int i = 0; i < 2; i++) pthread_join(others[i], NULL);
    printf("%d steps alone, %d and %d beside each other\n", alone, counts[0], counts[1]);
    return 0;
}
