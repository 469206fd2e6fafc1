// mremap gives a shared page a second address: a byte that changes for a moment can be seen there.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile char *one, *other;
static void *worker(void *u) {
    one[5] = 1;
    one[5] = 0;
    return u;
}
int main(void) {
    int fd = memfd_create("page", 0);
    ftruncate(fd, 4096);
    one = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    other = mremap((void *)one, 0, 4096, MREMAP_MAYMOVE);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char c = other[5];
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
