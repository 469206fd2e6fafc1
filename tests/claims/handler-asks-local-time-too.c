// A thread and the handler that interrupts it both call localtime, which returns hidden state.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
static time_t moment = 1000000000;
static volatile int year;
static void handler(int n) { localtime(&moment); }
static void *worker(void *u) {
    year = localtime(&moment)->tm_year;
    return u;
}
int main(void) {
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
