/* Prints without end: the call is no step, so nothing else can ever move. */
#include <pthread.h>
#include <stdio.h>

static void *print(void *unused)
{
    for (;;)
        puts("for ever");
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, print, NULL);
    pthread_join(thread, NULL);
    return 0;
}
