// Two threads open one file, read it and close it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void use(void) {
    char text[8];
    int file = open("/etc/passwd", O_RDONLY);
    if (read(file, text, sizeof text) <= 0) abort();
    close(file);
}
static void *worker(void *u) {
    use();
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    use();
    pthread_join(a, 0);
    return 0;
}
