#include "two_threads.h"

static regex_t re;
static volatile regmatch_t pm[1];
static int r;

static void *a(void *unused) {
    r = regexec(&re, "ab", 0, (regmatch_t *)pm, REG_STARTEND);
    return unused;
}

static void *b(void *unused) {
    pm[0].rm_so = 1;
    pm[0].rm_so = 0;
    return unused;
}

int main(void) {
    regcomp(&re, "a", 0);
    pm[0].rm_eo = 2;
    go(a, b);
    if (r) abort();
    return 0;
}
