// A signal is sent to a thread that counts its depth: the handler can run inside.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static volatile int depth;
static void handler(int n) { if (depth != 0) abort(); }
static void *worker(void *u) {
    for (int i = 0; i < 2; i++) {
        depth++;
        depth--;
    }
    return u;
}
int main(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGRTMIN, &action, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGRTMIN);
    pthread_join(a, 0);
    return 0;
}
