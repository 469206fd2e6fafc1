/* One thread writes x, n threads read it. */
#include <pthread.h>
#include <stdlib.h>

#define MOST 32

static volatile long x;

static void *writer(void *arg) {
    x = 1;
    return arg;
}

static void *reader(void *arg) {
    (void)x;
    return arg;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t ids[MOST + 1];
    pthread_create(&ids[0], NULL, writer, NULL);
    for (int i = 1; i <= readers; i++)
        pthread_create(&ids[i], NULL, reader, NULL);
    for (int i = 0; i <= readers; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
