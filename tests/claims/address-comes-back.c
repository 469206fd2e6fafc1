// A compare-and-swap expects the address of a block that the other thread freed and allocated again.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node { long value; };
static _Atomic(struct node *) top;
static void *replace(void *u) {
    struct node *old = atomic_exchange(&top, 0);
    free(old);
    struct node *new = malloc(sizeof *new);
    new->value = 2;
    atomic_store(&top, new);
    return u;
}
int main(void) {
    struct node *first = malloc(sizeof *first);
    first->value = 1;
    atomic_store(&top, first);
    pthread_t a;
    pthread_create(&a, 0, replace, 0);
    struct node *expected = atomic_load(&top);
    long value = 0;
    if (expected == first) value = 1;
    pthread_join(a, 0);
    if (value == 1 && atomic_compare_exchange_strong(&top, &expected, 0)) abort();
    return 0;
}
