// A thread writes two bytes one by one: a read between them returns one byte, although two were asked for.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int ends[2];
static void *writer(void *u) {
    if (write(ends[1], "a", 1) != 1 || write(ends[1], "b", 1) != 1) exit(3);
    return u;
}
int main(void) {
    char bytes[2];
    if (pipe(ends)) return 3;
    pthread_t a;
    pthread_create(&a, 0, writer, 0);
    if (read(ends[0], bytes, 2) != 2) abort();
    pthread_join(a, 0);
    return 0;
}
