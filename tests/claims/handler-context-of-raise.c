// A handler finds in its context where the thread continues, and the thread's alternate stack.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
static char stack[65536];
static char *lowest;
static void handler(int n, siginfo_t *info, void *at) {
    ucontext_t *context = at;
    char *sp = (char *)context->uc_mcontext.gregs[REG_RSP];
    if (context->uc_mcontext.gregs[REG_RIP] == 0 || context->uc_stack.ss_sp != stack)
        abort();
    if (sp > lowest || lowest - sp > 4096)
        abort();
}
static void *worker(void *u) {
    char here;
    stack_t mine = {.ss_sp = stack, .ss_size = sizeof stack};
    lowest = &here + 64;
    sigaltstack(&mine, 0);
    raise(SIGUSR1);
    return u;
}
int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    pthread_t a;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&a, 0, worker, 0);
    pthread_join(a, 0);
    return 0;
}
