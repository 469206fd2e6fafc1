// A thread and the handler that interrupts it both use strtok, whose position is hidden: not async-signal-safe.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static char text[] = "one two three", other[] = "a b";
static void handler(int n) { strtok(other, " "); }
static void *worker(void *u) {
    strtok(text, " ");
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
