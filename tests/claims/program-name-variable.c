#include "two_threads.h"

static int m;
static char buf[64];

static void *a(void *unused) {
    warnx("x");
    return unused;
}

static void *b(void *unused) {
    char *volatile *p = (char *volatile *)&program_invocation_short_name;
    char *o = *p;
    *p = "##";
    *p = o;
    return unused;
}

int main(void) {
    m = memfd_create("x", 0);
    dup2(m, 2);
    go(a, b);
    pread(m, buf, 63, 0);
    if (buf[0] == '#') abort();
    return 0;
}
