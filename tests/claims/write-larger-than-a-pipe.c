// A megabyte goes through a pipe in pieces of 100 bytes: the write ends when the reader has made room.
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
enum { SIZE = 1 << 20 };
static char data[SIZE];
static int p[2];
static void *reader(void *u) {
    static char got[SIZE];
    size_t len = 0;
    for (ssize_t n; (n = read(p[0], got + len, SIZE - len < 100 ? SIZE - len : 100)) > 0;) len += n;
    assert(len == SIZE && !memcmp(got, data, SIZE));
    return u;
}
int main(void) {
    memset(data, 'a', SIZE / 2);
    memset(data + SIZE / 2, 'b', SIZE / 2);
    pipe(p);
    pthread_t t;
    pthread_create(&t, 0, reader, 0);
    assert(write(p[1], data, SIZE) == SIZE);
    close(p[1]);
    pthread_join(t, 0);
    return 0;
}
