/* A recursion without end, in a thread; in main, or on a stack of the size or at the place that was asked for, by the
   argument. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

static volatile int depth;

__attribute__((noinline)) static int fall(volatile char *above)
{
    volatile char here[4000];
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

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "";
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (strcmp(where, "main") == 0)
        work(NULL);
    if (strcmp(where, "small") == 0)
        pthread_attr_setstacksize(&attributes, 64 << 10);
    if (strcmp(where, "own") == 0) {
        /* A page below the stack is made inaccessible, as programs do that provide their own stacks. */
        char *all = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(all, 64 << 10, PROT_NONE);
        pthread_attr_setstack(&attributes, all + (64 << 10), (1 << 20) - (64 << 10));
    }
    pthread_create(&thread, &attributes, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
