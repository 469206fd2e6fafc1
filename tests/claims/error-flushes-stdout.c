#include "two_threads.h"

static int m;

static void *a(void *unused) {
    error(0, 0, "a");
    return unused;
}

static void *b(void *unused) {
    lseek(m, 100, SEEK_SET);
    lseek(m, 0, SEEK_SET);
    return unused;
}

int main(void) {
    struct stat s;
    m = memfd_create("x", 0);
    dup2(m, 1);
    fputs("abc", stdout);
    go(a, b);
    fstat(m, &s);
    if (s.st_size > 100) abort();
    return 0;
}
