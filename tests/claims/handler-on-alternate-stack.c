// A handler runs on the alternate stack of its thread, and can ask for that. The other thread has none.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
static char stack[65536];
static int on_stack, flags, refused;
static void handler(int n) {
    char here;
    stack_t now, none = {.ss_flags = SS_DISABLE};
    on_stack = &here >= stack && &here < stack + sizeof stack;
    assert(!sigaltstack(0, &now));
    flags = now.ss_flags;
    refused = sigaltstack(&none, 0) == -1 && errno == EPERM;
}
static void *worker(void *u) {
    stack_t mine = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    assert(!sigaltstack(&mine, &now));
    assert(now.ss_flags == SS_DISABLE);
    raise(SIGUSR1);
    assert(on_stack && flags == SS_ONSTACK && refused);
    assert(!sigaltstack(0, &now));
    assert(now.ss_sp == stack && now.ss_size == sizeof stack && now.ss_flags == 0);
    return u;
}
int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    pthread_t a;
    stack_t now;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&a, 0, worker, 0);
    assert(!sigaltstack(0, &now) && now.ss_flags == SS_DISABLE);
    pthread_join(a, 0);
    return 0;
}
