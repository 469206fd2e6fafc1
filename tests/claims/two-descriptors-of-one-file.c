// Two descriptors that were opened separately lead to one file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int first, second;
static void open_twice(void) {
    char name[] = "/tmp/claimXXXXXX";
    first = mkstemp(name);
    second = open(name, O_RDWR);
    unlink(name);
}
static void *worker(void *u) {
    char read = 0;
    pread(second, &read, 1, 0);
    if (read == 'b') abort();
    return u;
}
int main(void) {
    pthread_t a;
    open_twice();
    pwrite(first, "a", 1, 0);
    pthread_create(&a, 0, worker, 0);
    pwrite(first, "b", 1, 0);
    pwrite(first, "a", 1, 0);
    pthread_join(a, 0);
    return 0;
}
