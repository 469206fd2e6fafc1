// A thread reads a file into which main copies from another one: it may come too early.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int from, to;
static void *reader(void *unused) {
    char byte = 0;
    (void)unused;
    (void)!pread(to, &byte, 1, 0);
    return (void *)(long)byte;
}
int main(void) {
    from = fileno(tmpfile());
    to = fileno(tmpfile());
    (void)!pwrite(from, "a", 1, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    off_t at_from = 0, at_to = 0;
    (void)!copy_file_range(from, &at_from, to, &at_to, 1, 0);
    void *byte;
    pthread_join(thread, &byte);
    if ((long)byte != 'a')
        abort();
    return 0;
}
