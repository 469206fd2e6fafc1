// The handler uses strtok_r on its own array, which is async-signal-safe; the thread uses strtok.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static char text[] = "one two";
static void handler(int n) {
    char own[] = "a b", *next;
    strtok_r(own, " ", &next);
}
static void *worker(void *u) {
    strtok(text, " ");
    if (strcmp(strtok(0, " "), "two")) abort();
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
