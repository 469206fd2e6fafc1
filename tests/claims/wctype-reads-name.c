#include "two_threads.h"

#include <wctype.h>
static volatile char name[8] = "alpha";
static wctype_t r;

static void *a(void *unused) {
    r = wctype((char *)name);
    return unused;
}

static void *b(void *unused) {
    name[0] = '#';
    name[0] = 'a';
    return unused;
}

int main(void) {
    go(a, b);
    if (!r) abort();
    return 0;
}
