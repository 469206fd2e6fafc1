// A handler finds in its context a register of the code that it interrupts, which has this value for three
// instructions.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
static int written;
static void handler(int n, siginfo_t *info, void *at) {
    ucontext_t *context = at;
    if (context->uc_mcontext.gregs[REG_RBX] == 0x1234567)
        abort();
}
static void *worker(void *u) {
    __asm__ volatile("mov $0x1234567, %%rbx\n"
                     "movl $1, %0\n"
                     "xor %%ebx, %%ebx"
                     : "=m"(written)
                     :
                     : "rbx");
    return u;
}
int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    pthread_t a;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
