/* Prints without end: the call is no step, so no other task ever runs. */
#include <pthread.h>
#include <stdio.h>

static void *print(void *unused)
{
    for (;;)
        puts("endless");
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, print, NULL);
    pthread_join(thread, NULL);
    return 0;
}
