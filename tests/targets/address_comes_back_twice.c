// A failure that needs two blocks to come back at their old addresses: each of two compare-and-swaps
// expects a block that the other thread freed and allocated again.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node { long value; };
static _Atomic(struct node *) one, two;
static void *replace(void *u) {
    for (int round = 0; round < 2; round++) {
        _Atomic(struct node *) *top = round ? &two : &one;
        free(atomic_exchange(top, 0));
        atomic_store(top, malloc(sizeof(struct node)));
    }
    return u;
}
int main(void) {
    struct node *first = malloc(sizeof *first), *second = malloc(sizeof *second);
    atomic_store(&one, first);
    atomic_store(&two, second);
    pthread_t a;
    pthread_create(&a, 0, replace, 0);
    pthread_join(a, 0);
#ifdef NOT_COMPARED
    return 0;
#endif
    struct node *expected = first, *other = second;
    int found = atomic_compare_exchange_strong(&one, &expected, 0);
    found += atomic_compare_exchange_strong(&two, &other, 0);
    if (found == 2) abort();
    return 0;
}
