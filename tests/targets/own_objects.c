/* Each thread allocates its own lock, publishes it, and takes those that others have published.
 * The address of a lock depends on which task allocates first (unless FIXED); conflicts do not. */
#include <pthread.h>
#include <stdlib.h>

#define MOST 8

struct owned {
    pthread_mutex_t lock;
};

static pthread_mutex_t board = PTHREAD_MUTEX_INITIALIZER;
static struct owned *published[MOST];
static int threads = 2, rounds = 1;

static struct owned *allocate(long who, int round) {
#ifdef FIXED
    static struct owned all[MOST][MOST];
    return &all[who][round];
#else
    (void)who, (void)round;
    return malloc(sizeof(struct owned));
#endif
}

static void pass(pthread_mutex_t *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

static void *worker(void *arg) {
    long me = (long)arg;
    for (int round = 0; round < rounds; round++) {
        struct owned *mine = allocate(me, round);
        pthread_mutex_init(&mine->lock, NULL);
        pass(&mine->lock);
        pthread_mutex_lock(&board);
        struct owned *theirs = published[(me + 1) % threads];
        published[me] = mine;
        pthread_mutex_unlock(&board);
        if (theirs)
            pass(&theirs->lock);
        pass(&mine->lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : threads;
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    pthread_t ids[MOST];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, worker, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
