#include "two_threads.h"

static int m, k;

static void *a(void *unused) {
    perror("a");
    return unused;
}

static void *b(void *unused) {
    close(2);
    dup2(k, 2);
    return unused;
}

int main(void) {
    struct stat s;
    m = memfd_create("x", 0);
    k = dup(m);
    dup2(m, 2);
    go(a, b);
    fstat(m, &s);
    if (s.st_size == 0) abort();
    return 0;
}
