// A thread prints, and the handler that interrupts it writes with the system call: write is async-signal-safe.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void handler(int n) { write(1, "signal\n", 7); }
static void *worker(void *u) {
    printf("working\n");
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
