// The handler calls strtok on its own array: the position is hidden state all the same.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static char text[] = "one two";
static void handler(int n) {
    static char own[] = "a b";
    strtok(own, " ");
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
