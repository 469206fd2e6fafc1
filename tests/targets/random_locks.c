/* Threads that take three locks, each in an order drawn by lot. args: threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { LOCKS = 3, MOST = 8 };

static pthread_mutex_t lock[LOCKS];
static int sum;

static void *work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument * 7 + 1;
    int order[LOCKS];
    for (int i = 0; i < LOCKS; i++)
        order[i] = i;
    for (int i = LOCKS - 1; i > 0; i--) {
        seed = seed * 1103515245 + 12345;
        int other = (int)(seed >> 16) % (i + 1);
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_lock(&lock[order[i]]);
    sum++;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_unlock(&lock[order[i]]);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    pthread_t thread[MOST];
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&lock[i], NULL);
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
