// A duplicate of a descriptor has the same position in the file.
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
    if (lseek(second, 0, SEEK_CUR) == 5) abort();
    return u;
}
int main(void) {
    pthread_t a;
    open_twice();
    dup2(first, second);
    pthread_create(&a, 0, worker, 0);
    lseek(first, 5, 0);
    lseek(first, 0, 0);
    pthread_join(a, 0);
    return 0;
}
