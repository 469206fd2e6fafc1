#include "two_threads.h"

static int f, d;

static void lk(int fd, int t) {
    struct flock l = {t, SEEK_SET, 0, 0, 0};
    if (fcntl(fd, F_OFD_SETLKW, &l)) abort();
}

static void *a(void *unused) {
    lk(f, F_WRLCK);
    lk(f, F_UNLCK);
    return unused;
}

static void *b(void *unused) {
    lk(d, F_WRLCK);
    lk(d, F_UNLCK);
    return unused;
}

int main(void) {
    f = open("ofd-file", O_RDWR | O_CREAT, 0600);
    d = open("ofd-file", O_RDWR);
    go(a, b);
    return 0;
}
