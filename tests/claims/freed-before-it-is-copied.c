#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *data;
char copy[64];
static void *reader(void *arg) { pthread_mutex_lock(&lock); memcpy(copy, data, 64); pthread_mutex_unlock(&lock); return arg; }
int main(void) {
    data = malloc(64);
    memset(data, 1, 64);
    pthread_t t;
    pthread_create(&t, NULL, reader, NULL);
    pthread_mutex_lock(&lock);
    free(data);
    pthread_mutex_unlock(&lock);
    pthread_join(t, NULL);
    return 0;
}
