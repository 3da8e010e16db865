/* Work in parts that do not depend on each other, shared by threads. Whoever is free takes the next ones, so that numbers
   do not depend on how many threads there are, and the caller does all of it where the others have no core.

   The threads sleep between two works: OpenMP's wait awake, which cost eight times the time beside another process. */

#include <pthread.h>
#include <stdatomic.h>

#define MOST_THREADS 256
#define PARTS 4 /* turns a thread, where all are as fast */

typedef void (*Part)(const void *work, int from, int to);

static _Thread_local int threads = 1; /* for the works of this thread, itself among them */

static struct {
    pthread_mutex_t works, state; /* one work at a time; what follows */
    pthread_cond_t begun, left;
    int helpers, number, asked, inside; /* there are; of the work; that may join it; that have and work */
    Part part;
    const void *work;
    int count, size;
    atomic_int next;
} pool = {.works = PTHREAD_MUTEX_INITIALIZER, .state = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static void take_parts(void) {
    for (int i; (i = atomic_fetch_add(&pool.next, pool.size)) < pool.count;)
        pool.part(pool.work, i, pool.count - i < pool.size ? pool.count : i + pool.size);
}

static void *help(void *unused) {
    pthread_mutex_lock(&pool.state);
    for (int last = 0;;) {
        while (pool.asked == 0 || pool.number == last) pthread_cond_wait(&pool.begun, &pool.state);
        last = pool.number;
        pool.asked--, pool.inside++;
        pthread_mutex_unlock(&pool.state);
        take_parts();
        pthread_mutex_lock(&pool.state);
        if (--pool.inside == 0) pthread_cond_signal(&pool.left);
    }
    return unused;
}

/* part(work, from, to) for all of 0 ... count - 1, by this thread and by others if it is `worth` it and they are free */
static void share(Part part, const void *work, int count, int worth) {
    const int most = threads < MOST_THREADS ? threads : MOST_THREADS;
    if (most < 2 || !worth || count < 2 || pthread_mutex_trylock(&pool.works)) {
        part(work, 0, count);
        return;
    }
    pthread_mutex_lock(&pool.state);
    pthread_t made;
    while (pool.helpers < most - 1 && !pthread_create(&made, NULL, help, NULL)) pthread_detach(made), pool.helpers++;
    pool.part = part, pool.work = work, pool.count = count;
    pool.size = (count + most * PARTS - 1) / (most * PARTS);
    pool.number++, pool.asked = most - 1;
    atomic_store(&pool.next, 0);
    pthread_cond_broadcast(&pool.begun);
    pthread_mutex_unlock(&pool.state);
    take_parts();
    pthread_mutex_lock(&pool.state);
    pool.asked = 0; /* who has not come yet is not waited for */
    while (pool.inside) pthread_cond_wait(&pool.left, &pool.state);
    pthread_mutex_unlock(&pool.state);
    pthread_mutex_unlock(&pool.works);
}
