#include "two_threads.h"

#include <dlfcn.h>
static volatile char name[16] = "libm.so.6";
static void *r;

static void *a(void *unused) {
    r = dlopen((char *)name, RTLD_NOW);
    return unused;
}

static void *b(void *unused) {
    name[0] = '#';
    name[0] = 'l';
    return unused;
}

int main(void) {
    dlopen("libm.so.6", RTLD_NOW);
    go(a, b);
    if (!r) abort();
    return 0;
}
