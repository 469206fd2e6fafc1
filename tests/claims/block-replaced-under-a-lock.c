#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *data;
int sum;
static void replace(void) {
    pthread_mutex_lock(&lock);
    sum += data[1];
    free(data);
    data = calloc(4, sizeof *data);
    pthread_mutex_unlock(&lock);
}
static void *user(void *arg) {
    for (int i = 0; i < 2; i++) replace();
    return arg;
}
int main(void) {
    data = calloc(4, sizeof *data);
    pthread_t thread;
    pthread_create(&thread, NULL, user, NULL);
    for (int i = 0; i < 68; i++) replace();
    pthread_join(thread, NULL);
    free(data);
    return sum;
}
