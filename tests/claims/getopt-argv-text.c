#include "two_threads.h"

static volatile char arg[3] = "-a";
static char *av[3];
static int r;

static void *a(void *unused) {
    r = getopt(2, av, "ab");
    return unused;
}

static void *b(void *unused) {
    arg[1] = 'b';
    arg[1] = 'a';
    return unused;
}

int main(void) {
    av[0] = "p";
    av[1] = (char *)arg;
    go(a, b);
    if (r == 'b') abort();
    return 0;
}
