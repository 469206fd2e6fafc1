#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
static void *post(void *arg) {
    sem_post(arg);
    return NULL;
}
int main(void) {
    sem_t *done = malloc(sizeof *done);
    sem_init(done, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, post, done);
    sem_wait(done);
    sem_destroy(done);
    free(done);
    pthread_join(thread, NULL);
    return 0;
}
