#include "two_threads.h"

static volatile char zone[4] = "AAA";
static char buf[16];
static struct tm tm;

static void *a(void *unused) {
    strftime(buf, sizeof buf, "%Z", &tm);
    return unused;
}

static void *b(void *unused) {
    zone[0] = 'B';
    zone[0] = 'A';
    return unused;
}

int main(void) {
    tm.tm_zone = (char *)zone;
    tm.tm_mday = 1;
    go(a, b);
    if (buf[0] == 'B') abort();
    return 0;
}
