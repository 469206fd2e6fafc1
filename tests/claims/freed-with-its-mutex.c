#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
struct object { char before[600]; pthread_mutex_t lock; int value; };
static struct object *shared;
static sem_t s;
static void *user(void *arg) { sem_post(&s); pthread_mutex_lock(&shared->lock); pthread_mutex_unlock(&shared->lock); return arg; }
int main(void) {
    shared = calloc(1, sizeof *shared);
    sem_init(&s, 0, 0);
    pthread_t t;
    pthread_create(&t, NULL, user, NULL);
    sem_wait(&s);
    free(shared);
    pthread_join(t, NULL);
    return 0;
}
