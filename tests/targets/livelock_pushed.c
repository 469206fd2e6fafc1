// An endless loop that, as compilers do to align the stack, pushes registers with
// arbitrary values: what the previous call left there does not distinguish iterations.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
sem_t semaphore;
static volatile int forever = 1;

// A function that pushes all of them, calls `function(&object)`, and leaves the stack as it was.
#define PUSHING(name, function, object)                                                            \
    __asm__(#name ": push %rax\n push %rcx\n push %rdx\n push %rsi\n push %rdi\n push %r8\n"        \
                  " push %r9\n push %r10\n push %r11\n"                                            \
                  " lea " #object "(%rip), %rdi\n call " #function "@PLT\n"                        \
                  " lea 72(%rsp), %rsp\n ret\n");                                                  \
    void name(void);
PUSHING(give_way, sched_yield, mutex)
PUSHING(try_lock, pthread_mutex_trylock, mutex)
PUSHING(try_take, sem_trywait, semaphore)

static void *go_round(void *unused) {
    while (forever) {
        give_way();
        try_lock();
        try_take();
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, go_round, NULL);
    pthread_join(thread, NULL);
    return 0;
}
