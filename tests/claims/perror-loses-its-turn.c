#include "two_threads.h"

static int m;

static void *a(void *unused) {
    perror("x");
    return unused;
}

static void *b(void *unused) {
    ftruncate(m, 0);
    lseek(m, 5, SEEK_SET);
    lseek(m, 0, SEEK_SET);
    write(m, "", 1);
    return unused;
}

int main(void) {
    struct stat s;
    m = memfd_create("x", 0);
    dup2(m, 2);
    go(a, b);
    fstat(m, &s);
    if (s.st_size > 14) abort();
    return 0;
}
