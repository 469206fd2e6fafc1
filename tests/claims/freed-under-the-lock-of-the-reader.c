#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *data;
int sum;
static void *reader(void *arg) {
    pthread_mutex_lock(&lock);
    sum = data[3];
    pthread_mutex_unlock(&lock);
    return arg;
}
int main(void) {
    data = malloc(16 * sizeof *data);
    for (int i = 0; i < 16; i++) data[i] = i;
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    pthread_mutex_lock(&lock);
    free(data);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
