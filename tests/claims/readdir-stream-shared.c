// Two threads read one directory stream: one can leave nothing to the other.
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
static DIR *directory;
static void *worker(void *u) {
    while (readdir(directory)) {
    }
    return u;
}
int main(void) {
    mkdir("empty", 0700);
    directory = opendir("empty");
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    struct dirent *entry = readdir(directory);
    pthread_join(a, 0);
    if (!entry) abort();
    return 0;
}
