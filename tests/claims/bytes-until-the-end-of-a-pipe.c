// One thread reads single bytes until another one closes the pipe. No order of the two changes what it reads.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2], sum;

static void *reader(void *unused) {
    char byte;
    while (read(ends[0], &byte, 1) == 1) {
        sum += byte;
    }
    return unused;
}

static void *writer(void *unused) {
    for (char byte = 1; byte <= 3; byte++) {
        if (write(ends[1], &byte, 1) != 1) {
            exit(3);
        }
    }
    close(ends[1]);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    if (pipe(ends)) {
        return 3;
    }
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    if (sum != 6) {
        abort();
    }
    return 0;
}
