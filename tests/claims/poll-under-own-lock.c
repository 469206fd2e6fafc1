// A thread polls a flag under a lock that is a word of the program, and sleeps in between, until main has
// set the flag.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_flag word = ATOMIC_FLAG_INIT;
static int flag;
static void lock(void) { while (atomic_flag_test_and_set(&word)) sched_yield(); }
static void unlock(void) { atomic_flag_clear(&word); }
static void *poller(void *u) {
    for (;;) { lock(); int f = flag; unlock(); if (f) return u; usleep(1000); }
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, poller, 0);
    lock(); flag = 1; unlock();
    pthread_join(a, 0);
    return 0;
}
