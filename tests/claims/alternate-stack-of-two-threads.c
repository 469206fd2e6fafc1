// Two threads have the same alternate stack: the handlers on it overwrite each other's variables.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static char stack[65536];
static void handler(int n) {
    volatile int seen[16];
    for (int i = 0; i < 16; i++)
        seen[i] = n;
    for (int i = 0; i < 16; i++)
        if (seen[i] != n)
            abort();
}
static void *raises(void *signal) {
    stack_t mine = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&mine, 0);
    raise((int)(long)signal);
    return 0;
}
int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    pthread_t a, b;
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    pthread_create(&a, 0, raises, (void *)SIGUSR1);
    pthread_create(&b, 0, raises, (void *)SIGUSR2);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
