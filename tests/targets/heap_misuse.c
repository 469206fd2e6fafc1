/* One thread frees memory that another still uses; the first argument selects the mistake. Only
   some schedules show it. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    int value;
    char name[24];
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct node *shared;
static const char *mistake;

static void *user(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    struct node *mine = shared;
    pthread_mutex_unlock(&guard);
    if (!mine)
        return NULL;
    /* The other thread may run here. */
    pthread_mutex_lock(&guard);
    if (!strcmp(mistake, "write"))
        mine->value = 7;
    else if (!strcmp(mistake, "read"))
        mine->next->value = 7;
    else if (!strcmp(mistake, "overflow") && !shared)
        mine->name[24] = 'x';
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *owner(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    struct node *old = shared;
    shared = NULL;
    pthread_mutex_unlock(&guard);
    if (strcmp(mistake, "overflow"))
        free(old);
    if (!strcmp(mistake, "twice"))
        free(old);
    return NULL;
}

int main(int argc, char **argv)
{
    mistake = argc > 1 ? argv[1] : "write";
    /* The name ends at the end of the block. */
    shared = malloc(offsetof(struct node, name) + 24);
    shared->next = shared;
    pthread_t one, two;
    pthread_create(&one, NULL, user, NULL);
    pthread_create(&two, NULL, owner, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
