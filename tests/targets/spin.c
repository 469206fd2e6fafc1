/* A thread waits for a flag in a loop that calls nothing. It ends as soon as main runs on, but with a schedule that
   lets the loop run first, it never reaches a scheduling point. */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static volatile int flag;

static void *spin(void *unused)
{
    (void)unused;
    while (!flag)
        ;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    sched_yield();
    flag = 1;
    pthread_join(thread, NULL);
    return 0;
}
