// The first of sixteen reads makes room for a page, and the writer may not write the next one until all are done.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
enum { FULL = 65536, PAGE = 4096, REST = 8192 };
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
    for (int i = 0; i < FULL / PAGE; i++)
        if (read(ends[0], got, PAGE) != PAGE) exit(3);
    ssize_t len = read(ends[0], got, REST);
    if (len == PAGE) abort();
    while (len < REST) len += read(ends[0], got, REST);
    pthread_join(a, 0);
    return 0;
}
