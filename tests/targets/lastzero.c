/* Threads 1 to n do a[j] = a[j-1] + 1; one looks from a[n] down for the first zero. */
#include <pthread.h>
#include <stdlib.h>

#define MOST 32

#ifndef TYPE
#define TYPE long
#endif

static volatile TYPE a[MOST + 1];
static int writers;

static void *writer(void *arg) {
    long j = (long)arg;
    a[j] = a[j - 1] + 1;
    return NULL;
}

static void *scanner(void *arg) {
    for (int i = writers; a[i] != 0; i--)
        ;
    return arg;
}

int main(int argc, char **argv) {
    writers = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t ids[MOST + 1];
    pthread_create(&ids[0], NULL, scanner, NULL);
    for (long j = 1; j <= writers; j++)
        pthread_create(&ids[j], NULL, writer, (void *)j);
    for (int i = 0; i <= writers; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
