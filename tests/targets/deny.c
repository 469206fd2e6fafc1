/* Two threads that each announce that they want to enter, and let the other
 * one go first if it did, too: if both do, each denies the other forever. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_int wants[2];
static int entered;

static void *enter(void *argument)
{
    int own = (int)(intptr_t)argument;
    atomic_store(&wants[own], 1);
    while (atomic_load(&wants[1 - own]))
        sched_yield();
    entered++;
    atomic_store(&wants[own], 0);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, enter, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
