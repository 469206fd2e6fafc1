// asctime returns one static text. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static struct tm one = {.tm_year = 100, .tm_mday = 1}, two = {.tm_year = 101, .tm_mday = 2};
static char *text;
static void *worker(void *u) {
    asctime(&two);
    return u;
}
int main(void) {
    pthread_t a;
    text = asctime(&one);
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(text[23]) *)&text[23];
    long after = (long)*(volatile __typeof__(text[23]) *)&text[23];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
