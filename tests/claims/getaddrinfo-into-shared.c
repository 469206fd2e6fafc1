// getaddrinfo stores the list that it made. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
static struct addrinfo *list;
static void *worker(void *u) {
    struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    getaddrinfo("127.0.0.1", "80", &numeric, &list);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(list) *)&list;
    long after = (long)*(volatile __typeof__(list) *)&list;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
