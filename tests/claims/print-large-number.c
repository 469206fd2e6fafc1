/* A number with thousands of digits is printed whole, into shared memory as into a private variable. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 5000 };

static char shared[ROOM], own[ROOM];
static volatile char seen;

static void *look(void *unused)
{
    seen = *(volatile char *)shared;
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, look, NULL);
    int length = snprintf(own, ROOM, "<%Lf|%d>", 1e4000L, 7);
    assert(length > 4000);
    assert(snprintf(shared, ROOM, "<%Lf|%d>", 1e4000L, 7) == length);
    assert(!strcmp(own, shared));
    pthread_join(thread, NULL);
    return 0;
}
