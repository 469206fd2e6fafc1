/* A recursion without end, in a thread. */
#include <pthread.h>
#include <stddef.h>

static volatile int depth;

__attribute__((noinline)) static int fall(volatile char *above)
{
    volatile char here[256];
    here[0] = (char)(above[0] + 1);
    /* Never true, but the compiler cannot know. */
    if (depth++ < 0)
        return 0;
    return fall(here) + here[0];
}

static void *work(void *unused)
{
    (void)unused;
    volatile char start[1] = {0};
    depth = fall(start);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
