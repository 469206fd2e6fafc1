// Twenty bytes are written one by one and read one by one: each read waits for its byte, and no order changes it.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
enum { COUNT = 20 };
static int ends[2];
static void *writer(void *u) {
    for (char i = 0; i < COUNT; i++)
        if (write(ends[1], &i, 1) != 1) exit(3);
    return u;
}
int main(void) {
    char byte;
    pthread_t a;
    if (pipe(ends)) return 3;
    pthread_create(&a, 0, writer, 0);
    for (char i = 0; i < COUNT; i++)
        if (read(ends[0], &byte, 1) != 1 || byte != i) abort();
    pthread_join(a, 0);
    return 0;
}
