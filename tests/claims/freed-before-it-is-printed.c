#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static void *user(void *arg) { pthread_mutex_lock(&lock); puts(text); pthread_mutex_unlock(&lock); return arg; }
int main(void) {
    text = strdup("hello");
    pthread_t t;
    pthread_create(&t, NULL, user, NULL);
    pthread_mutex_lock(&lock);
    free(text);
    pthread_mutex_unlock(&lock);
    pthread_join(t, NULL);
    return 0;
}
