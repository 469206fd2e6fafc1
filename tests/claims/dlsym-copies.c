// A function of the C library is found by dlsym and writes a text twice: another thread can see the first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static char text[64];
static char *(*copy)(char *, const char *);
static void *worker(void *u) {
    copy(text, "one");
    copy(text, "");
    return u;
}
int main(void) {
    copy = dlsym(RTLD_DEFAULT, "stpcpy");
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char c = *(volatile char *)text;
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
