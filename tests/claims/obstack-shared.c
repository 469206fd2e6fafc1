// Two threads allocate from one obstack: both can have the same memory.
#define _GNU_SOURCE
#include <obstack.h>
#include <pthread.h>
#include <stdlib.h>
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free
static struct obstack stack;
static void *volatile others;
static void *worker(void *u) {
    others = obstack_alloc(&stack, 8);
    return u;
}
int main(void) {
    obstack_init(&stack);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    void *own = obstack_alloc(&stack, 8);
    pthread_join(a, 0);
    if (own == others) abort();
    return 0;
}
