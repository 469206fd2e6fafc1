// uname fills a structure that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/utsname.h>
static struct utsname names;
static void *worker(void *u) {
    uname(&names);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char before = *(volatile char *)&names.sysname[0], after = *(volatile char *)&names.sysname[0];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
