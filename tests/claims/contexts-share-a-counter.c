// A coroutine of swapcontext increments a counter that another thread increments, too.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t outer, inner;
static char stack[65536];
static volatile int count;
static void run(void) { count = count + 1; }
static void *worker(void *u) {
    count = count + 1;
    return u;
}
int main(void) {
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = sizeof stack;
    inner.uc_link = &outer;
    makecontext(&inner, run, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    swapcontext(&outer, &inner);
    pthread_join(a, 0);
    if (count != 2) abort();
    return 0;
}
