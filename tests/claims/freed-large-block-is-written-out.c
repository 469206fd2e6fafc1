#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static void *user(void *arg) { pthread_mutex_lock(&lock); if (write(1, text, 5) != 5) abort(); pthread_mutex_unlock(&lock); return arg; }
int main(void) {
    text = malloc(100000); memset(text, 'a', 100000);
    pthread_t t;
    pthread_create(&t, NULL, user, NULL);
    pthread_mutex_lock(&lock);
    free(text);
    pthread_mutex_unlock(&lock);
    pthread_join(t, NULL);
    return 0;
}
