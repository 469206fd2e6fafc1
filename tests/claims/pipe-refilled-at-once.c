// One read empties a full pipe, whose writer then has room for all of the rest: the next read finds all of it.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
enum { FULL = 65536, REST = 8192 };
static char data[FULL + REST], got[FULL];
static int ends[2];
static void *writer(void *u) {
    if (write(ends[1], data, sizeof data) != sizeof data) exit(3);
    return u;
}
int main(void) {
    pthread_t a;
    if (pipe(ends)) return 3;
    pthread_create(&a, 0, writer, 0);
    if (read(ends[0], got, FULL) != FULL) abort();
    if (read(ends[0], got, REST) != REST) abort();
    pthread_join(a, 0);
    return 0;
}
