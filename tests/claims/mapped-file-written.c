// A mapped file is changed for a moment by pwrite: another thread can see that in memory.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static int fd;
static volatile char *page;
static void *worker(void *u) {
    pwrite(fd, "x", 1, 0);
    pwrite(fd, "", 1, 0);
    return u;
}
int main(void) {
    fd = memfd_create("page", 0);
    ftruncate(fd, 4096);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char c = page[0];
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
