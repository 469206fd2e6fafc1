// A date is written into a buffer while another thread reads its first and then its eleventh character.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static char text[32] = "0000000000000000000";
static void *worker(void *u) {
    struct tm tm = {.tm_year = 123};
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    volatile char *v = text;
    char first = v[0], later = v[10];
    pthread_join(a, 0);
    if (first == '2' && later == '0') abort();
    return 0;
}
