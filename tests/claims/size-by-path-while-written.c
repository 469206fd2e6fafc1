// A file has a size for a moment, and the other thread looks by its path.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static char name[] = "/tmp/claimXXXXXX";
static int file;
static void *worker(void *u) {
    struct stat status;
    stat(name, &status);
    unlink(name);
    if (status.st_size == 5) abort();
    return u;
}
int main(void) {
    pthread_t a;
    file = mkstemp(name);
    pthread_create(&a, 0, worker, 0);
    write(file, "abcde", 5);
    ftruncate(file, 0);
    pthread_join(a, 0);
    return 0;
}
