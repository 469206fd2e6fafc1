// Both threads print: what is captured is not observed by the program.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
static void *worker(void *u) {
    printf("%d\n", 1);
    fprintf(stderr, "%s\n", "two");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    puts("three");
    pthread_join(a, 0);
    return 0;
}
