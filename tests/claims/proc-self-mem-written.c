// A variable is changed for a moment through /proc/self/mem: another thread can see that.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int x;
static int memory;
static void put(int v) { pwrite(memory, &v, 4, (long)&x); }
static void *worker(void *u) {
    put(1);
    put(0);
    return u;
}
int main(void) {
    memory = open("/proc/self/mem", O_RDWR);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int c = x;
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
