// An array is sorted while another thread writes one element: the sum can be another than before and after.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static volatile int values[3] = {3, 2, 1};
static int compare(const void *a, const void *b, void *u) {
    (void)u;
    return *(const int *)a - *(const int *)b;
}
static void *worker(void *u) {
    values[0] = 9;
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    qsort_r((void *)values, 3, sizeof *values, compare, 0);
    pthread_join(a, 0);
    int sum = values[0] + values[1] + values[2];
    if (sum != 12 && sum != 14 && sum != 13) abort();
    return 0;
}
