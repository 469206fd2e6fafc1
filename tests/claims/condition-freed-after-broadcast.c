#include <pthread.h>
#include <stdlib.h>
struct request {
    char text[600];
    pthread_cond_t done;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void *waiter(void *arg) {
    struct request *request = arg;
    pthread_mutex_lock(&lock);
    while (!ready) pthread_cond_wait(&request->done, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(void) {
    struct request *request = malloc(sizeof *request);
    pthread_cond_init(&request->done, NULL);
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, waiter, request);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    int waits = !ready;
    ready = 1;
    pthread_cond_broadcast(&request->done);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&request->done);
    free(request);
    return !waits;
}
