#include "two_threads.h"

static char buf[8192];
static char *e;

static void *a(void *unused) {
    int f = open("/proc/self/environ", O_RDONLY);
    read(f, buf, 8191);
    close(f);
    return unused;
}

static void *b(void *unused) {
    char o = e[0];
    *(volatile char *)e = '#';
    *(volatile char *)e = o;
    return unused;
}

int main(void) {
    e = environ[0];
    if (!e) return 3;
    go(a, b);
    if (buf[0] == '#') abort();
    return 0;
}
