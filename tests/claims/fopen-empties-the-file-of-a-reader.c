// A thread opens a file with fopen to write, which empties it, while main reads it by a descriptor.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *worker(void *u) {
    fopen("file", "w");
    return u;
}
int main(void) {
    int file = open("file", O_CREAT | O_TRUNC | O_RDWR, 0600);
    write(file, "hello", 5);
    lseek(file, 0, SEEK_SET);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char text[8];
    long count = read(file, text, sizeof text);
    pthread_join(a, 0);
    if (count != 5) abort();
    return 0;
}
