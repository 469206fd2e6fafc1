// One thread reads single bytes from a named pipe until another one closes it.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int sum;

static void *reader(void *unused) {
    int end = open("bytes.pipe", O_RDONLY);
    char byte;
    while (read(end, &byte, 1) == 1) {
        sum += byte;
    }
    close(end);
    return unused;
}

static void *writer(void *unused) {
    int end = open("bytes.pipe", O_WRONLY);
    for (char byte = 1; byte <= 3; byte++) {
        if (write(end, &byte, 1) != 1) {
            exit(3);
        }
    }
    close(end);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    if (mkfifo("bytes.pipe", 0600)) {
        return 3;
    }
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    unlink("bytes.pipe");
    if (sum != 6) {
        abort();
    }
    return 0;
}
