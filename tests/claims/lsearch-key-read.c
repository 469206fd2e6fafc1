#include "two_threads.h"

static volatile int key = 1;
static int table[2];
static size_t n;

static int cmp(const void *a, const void *b) {
    return 1;
}

static void *a(void *unused) {
    lsearch((void *)&key, table, &n, sizeof(int), cmp);
    return unused;
}

static void *b(void *unused) {
    key = 2;
    key = 1;
    return unused;
}

int main(void) {
    go(a, b);
    if (table[0] == 2) abort();
    return 0;
}
