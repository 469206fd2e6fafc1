// Both bytes are written at once, or read one by one: however the calls are ordered, each read returns its byte.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int ends[2];
static void *writer(void *u) {
    if (write(ends[1], "ab", 2) != 2) exit(3);
    return u;
}
int main(void) {
    char byte;
    if (pipe(ends)) return 3;
    pthread_t a;
    pthread_create(&a, 0, writer, 0);
    if (read(ends[0], &byte, 1) != 1 || byte != 'a') abort();
    if (read(ends[0], &byte, 1) != 1 || byte != 'b') abort();
    pthread_join(a, 0);
    return 0;
}
