/* "It is surely done by then": a sleep in place of a join. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int done;

static void *work(void *unused)
{
    (void)unused;
    done = 1;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    usleep(100 * 1000);
    assert(done);
    pthread_join(thread, NULL);
    return 0;
}
