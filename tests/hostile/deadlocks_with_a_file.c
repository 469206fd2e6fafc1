// Creates a directory with a pipe, which only the end of the program removes. Two threads lock in opposite orders.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static void *forwards(void *u) {
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_mutex_unlock(&one);
    return u;
}
static void *backwards(void *u) {
    pthread_mutex_lock(&other);
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    pthread_mutex_unlock(&other);
    return u;
}
int main(int count, char **arguments) {
    char pipe[512];
    snprintf(pipe, sizeof pipe, "%s/pipe", arguments[1]);
    if (mkdir(arguments[1], 0700) != 0 || mkfifo(pipe, 0600) != 0) return 3;
    pthread_t a, b;
    pthread_create(&a, 0, forwards, 0);
    pthread_create(&b, 0, backwards, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return unlink(pipe) != 0 || rmdir(arguments[1]) != 0;
}
