// A thread restores the default action of a signal for a moment: a signal that main raises then ends the process.
#include <pthread.h>
#include <signal.h>
static void *swapper(void *u) {
    signal(SIGTERM, SIG_DFL);
    signal(SIGTERM, SIG_IGN);
    return u;
}
int main(void) {
    signal(SIGTERM, SIG_IGN);
    pthread_t a;
    pthread_create(&a, 0, swapper, 0);
    raise(SIGTERM);
    pthread_join(a, 0);
    return 0;
}
