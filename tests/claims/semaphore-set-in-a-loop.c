// A thread takes from a semaphore, twenty milliseconds at a time, until main has added to it.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>
static int set;
static int change(int by) {
    struct sembuf one = {.sem_op = by};
    struct timespec limit = {.tv_nsec = 20000000};
    return semtimedop(set, &one, 1, &limit);
}
static void *taker(void *u) {
    while (change(-1)) {}
    return u;
}
int main(void) {
    pthread_t a;
    set = semget(IPC_PRIVATE, 1, 0600);
    pthread_create(&a, 0, taker, 0);
    assert(!change(1));
    pthread_join(a, 0);
    return 0;
}
