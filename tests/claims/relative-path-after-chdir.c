// A relative path depends on the working directory.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static void *worker(void *u) {
    struct stat status;
    if (!stat("passwd", &status)) abort();
    return u;
}
int main(void) {
    pthread_t a;
    chdir("/");
    pthread_create(&a, 0, worker, 0);
    chdir("/etc");
    chdir("/");
    pthread_join(a, 0);
    return 0;
}
