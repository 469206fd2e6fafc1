// strcat writes behind the text. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char text[16] = "ab";
static void *worker(void *u) {
    strcat(text, "cd");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(text[3]) *)&text[3];
    long after = (long)*(volatile __typeof__(text[3]) *)&text[3];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
