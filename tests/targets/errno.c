/* errno belongs to a thread, and a switch in between does not change it. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

static int *address[2];

static void *work(void *argument)
{
    int mine = (int)(intptr_t)argument;
    assert(errno == 0);
    errno = mine;
    sched_yield();
    assert(errno == mine);
    assert(close(-1) == -1 && errno == EBADF);
    sched_yield();
    assert(errno == EBADF);
    address[mine - 1] = &errno;
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    errno = 77;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, (void *)(intptr_t)(i + 1));
    assert(errno == 77);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert(errno == 77);
    assert(address[0] != &errno && address[1] != &errno);
    return 0;
}
