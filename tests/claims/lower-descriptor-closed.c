// Two descriptors lead to one file. The lower one, through which it is written, is closed before the other is read.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static int lower, higher;
static void *reader(void *u) {
    char byte = 0;
    if (pread(higher, &byte, 1, 0) != 1 || byte != 'x') abort();
    return u;
}
int main(void) {
    char path[32];
    lower = memfd_create("shared", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", lower);
    higher = open(path, O_RDWR);
    if (higher <= lower || write(lower, "a", 1) != 1) return 3;
    pthread_t a;
    pthread_create(&a, 0, reader, 0);
    pwrite(lower, "x", 1, 0);
    close(lower);
    pthread_join(a, 0);
    return 0;
}
