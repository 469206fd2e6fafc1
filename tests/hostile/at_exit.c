// Handlers that run when the process exits, in reverse order.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void first(void) {
    puts("first");
}

static void last(void) {
    puts("last");
}

static void *nothing(void *none) {
    return none;
}

int main(void) {
    pthread_t thread;
    atexit(first);
    atexit(last);
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    return 0;
}
