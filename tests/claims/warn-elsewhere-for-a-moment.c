#include "two_threads.h"

static int m, k;

static void *a(void *unused) {
    warnx("a");
    return unused;
}

static void *b(void *unused) {
    dup2(m, 2);
    dup2(k, 2);
    return unused;
}

int main(void) {
    struct stat s;
    m = memfd_create("x", 0);
    k = open("/dev/null", O_WRONLY);
    dup2(k, 2);
    go(a, b);
    fstat(m, &s);
    if (s.st_size) abort();
    return 0;
}
