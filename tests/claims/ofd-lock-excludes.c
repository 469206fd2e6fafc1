#include "two_threads.h"

static int f, d;
static volatile int in;

static void lk(int fd, int t) {
    struct flock l = {t, SEEK_SET, 0, 0, 0};
    fcntl(fd, F_OFD_SETLKW, &l);
}

static void *a(void *unused) {
    lk(f, F_WRLCK);
    if (in++) abort();
    in--;
    lk(f, F_UNLCK);
    return unused;
}

static void *b(void *unused) {
    lk(d, F_WRLCK);
    if (in++) abort();
    in--;
    lk(d, F_UNLCK);
    return unused;
}

int main(void) {
    char n[40];
    f = memfd_create("x", 0);
    sprintf(n, "/proc/self/fd/%d", f);
    d = open(n, O_RDWR);
    go(a, b);
    return 0;
}
