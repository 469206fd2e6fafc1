// A stream that writes to the memory that main gave it: main can see that.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static char buffer[64];
static FILE *out;
static void *worker(void *u) {
    fputc('x', out);
    return u;
}
int main(void) {
    out = fopen("/dev/null", "w");
    setvbuf(out, buffer, _IOFBF, sizeof buffer);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char before = *(volatile char *)&buffer[0], after = *(volatile char *)&buffer[0];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
