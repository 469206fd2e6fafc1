#include "two_threads.h"

static int m;
static volatile char id[3] = "aa";
static char buf[64];

static void *a(void *unused) {
    syslog(LOG_ERR, "x");
    return unused;
}

static void *b(void *unused) {
    id[0] = 'b';
    id[0] = 'a';
    return unused;
}

int main(void) {
    m = memfd_create("x", 0);
    dup2(m, 2);
    openlog((char *)id, LOG_PERROR, LOG_USER);
    go(a, b);
    pread(m, buf, 63, 0);
    if (buf[0] == 'b') abort();
    return 0;
}
