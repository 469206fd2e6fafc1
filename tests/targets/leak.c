/* A stack whose push reads and writes the top in two critical sections: in some schedules a node is
   lost, and its memory with it. With FIXED, it is one section. */
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    char text[40];
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct node *top;

static struct node *make(void)
{
    return calloc(1, sizeof(struct node));
}

static void *push(void *unused)
{
    struct node *node = make();
    pthread_mutex_lock(&guard);
    node->next = top;
#ifndef FIXED
    pthread_mutex_unlock(&guard);
    pthread_mutex_lock(&guard);
#endif
    top = node;
    pthread_mutex_unlock(&guard);
    return unused;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, push, NULL);
    pthread_create(&two, NULL, push, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    /* Reachable at the end, and so not lost. */
    return 0;
}
