/* A thread waits for a flag in a loop that yields: no failure, and no reason to run forever. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int flag;

static void *wait_for_it(void *unused)
{
    (void)unused;
    while (!flag)
        sched_yield();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, NULL);
    flag = 1;
    pthread_join(thread, NULL);
    return 0;
}
