/* Threads that take a lock once: one for all, or, where DISJOINT, one each. */
#include <pthread.h>
#include <stdlib.h>

#define MOST 32

#ifdef DISJOINT
#define LOCK(i) (i)
#else
#define LOCK(i) 0
#endif

static pthread_mutex_t locks[MOST];

static void *worker(void *arg) {
    long me = (long)arg;
    pthread_mutex_lock(&locks[LOCK(me)]);
    pthread_mutex_unlock(&locks[LOCK(me)]);
    return (void *)me;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t ids[MOST];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, worker, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
