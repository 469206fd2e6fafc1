/* Main increments an index and starts a thread each time; each thread marks the index that it
   reads. args: threads. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST = 16 };

static volatile int at = -1;
static int marked[MOST];

static void *mark(void *unused)
{
    (void)unused;
    marked[at] = 1;
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : MOST;
    pthread_t thread[MOST];
    for (int i = 0; i < threads; i++) {
        at++;
        pthread_create(&thread[i], NULL, mark, NULL);
    }
    int sum = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < threads; i++)
        sum += marked[i];
    assert(sum == threads);
    return 0;
}
