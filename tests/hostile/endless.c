/* A thread waits for a flag that is never set, in a loop that calls nothing. */
#include <pthread.h>
#include <stddef.h>

static volatile int flag;

static void *wait_for_flag(void *unused)
{
    while (!flag) {
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_flag, NULL);
    pthread_join(thread, NULL);
    return 0;
}
