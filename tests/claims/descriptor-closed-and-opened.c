// Two threads open, write and close a file each; one has the number that the other had, or another.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void use(void) {
    int file = open("/dev/null", O_WRONLY);
    if (write(file, "a", 1) != 1) abort();
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
