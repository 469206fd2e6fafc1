// Messages of four bytes and one of two: whether the second read finds the last two messages depends on their order.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int ends[2];
static void *writer(void *u) {
    if (write(ends[1], "abcd", 4) != 4 || write(ends[1], "ef", 2) != 2 || write(ends[1], "gh", 2) != 2) exit(3);
    return u;
}
int main(void) {
    char bytes[4];
    pthread_t a;
    if (pipe(ends)) return 3;
    pthread_create(&a, 0, writer, 0);
    if (read(ends[0], bytes, 4) != 4) exit(3);
    if (read(ends[0], bytes, 4) == 2) abort();
    pthread_join(a, 0);
    return 0;
}
