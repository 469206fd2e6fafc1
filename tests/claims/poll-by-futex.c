// A thread waits on a futex that no thread wakes, a millisecond at a time, until main has set the flag.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static atomic_int flag;
static void *poller(void *u) {
    struct timespec limit = {0, 1000000};
    while (!flag) syscall(SYS_futex, &flag, FUTEX_WAIT_PRIVATE, 0, &limit, 0, 0);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, poller, 0);
    flag = 1;
    pthread_join(a, 0);
    return 0;
}
