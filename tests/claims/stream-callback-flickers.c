// The write function of a stream changes a variable for a moment: main can see that.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile int x;
static FILE *out;
static ssize_t put(void *u, const char *text, size_t size) {
    (void)u, (void)text;
    x = 1;
    x = 0;
    return (ssize_t)size;
}
static void *worker(void *u) {
    fputs("a", out);
    fflush(out);
    return u;
}
int main(void) {
    out = fopencookie(0, "w", (cookie_io_functions_t){.write = put});
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int seen = x;
    pthread_join(a, 0);
    if (seen) abort();
    return 0;
}
