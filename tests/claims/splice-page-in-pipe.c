#include "two_threads.h"

static int p[2], m;
static char c;

static void *a(void *unused) {
    read(p[0], &c, 1);
    return unused;
}

static void *b(void *unused) {
    pwrite(m, "b", 1, 0);
    pwrite(m, "a", 1, 0);
    return unused;
}

int main(void) {
    m = memfd_create("x", 0);
    write(m, "a", 1);
    pipe(p);
    loff_t o = 0;
    if (splice(m, &o, p[1], 0, 1, 0) != 1) return 3;
    go(a, b);
    if (c == 'b') abort();
    return 0;
}
