// A variable is changed for a moment by process_vm_writev: another thread can see that.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
static volatile int x;
static void put(int v) {
    struct iovec local = {&v, 4}, remote = {(void *)&x, 4};
    process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
}
static void *worker(void *u) {
    put(1);
    put(0);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int c = x;
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
