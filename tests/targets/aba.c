/* A stack without locks: a pop reads the top and what is below it, and exchanges the top if it is as it
   was. Another thread may have taken two and put the first back meanwhile. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *next;
    int in_use;
};

static struct node b = {NULL, 0}, a = {&b, 0};
static _Atomic(struct node *) top = &a;

static struct node *pop(void)
{
    for (;;) {
        struct node *first = atomic_load(&top);
        if (!first)
            return NULL;
        struct node *second = first->next;
        if (atomic_compare_exchange_strong(&top, &first, second))
            return first;
    }
}

static void push(struct node *node)
{
    for (;;) {
        struct node *first = atomic_load(&top);
        node->next = first;
        if (atomic_compare_exchange_strong(&top, &first, node))
            return;
    }
}

static void *take(void *unused)
{
    (void)unused;
    pop();
    return NULL;
}

static void *take_two_and_put_one_back(void *unused)
{
    (void)unused;
    struct node *first = pop();
    struct node *second = pop();
    if (second)
        second->in_use = 1;
    if (first)
        push(first);
    return NULL;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, take, NULL);
    pthread_create(&two, NULL, take_two_and_put_one_back, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(!(atomic_load(&top) && atomic_load(&top)->in_use));
    return 0;
}
