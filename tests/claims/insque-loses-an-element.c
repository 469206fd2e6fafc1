// Two threads insert behind the head of a list with insque: one element can be lost.
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
struct element {
    struct element *next, *previous;
};
static struct element head, one, other;
static void *worker(void *u) {
    insque(&one, &head);
    return u;
}
int main(void) {
    insque(&head, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    insque(&other, &head);
    pthread_join(a, 0);
    int count = 0;
    for (struct element *at = head.next; at; at = at->next) count++;
    if (count != 2) abort();
    return 0;
}
