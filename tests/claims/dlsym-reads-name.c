#include "two_threads.h"

#include <dlfcn.h>
static volatile char name[8] = "puts";
static void *r;

static void *a(void *unused) {
    r = dlsym(RTLD_DEFAULT, (char *)name);
    return unused;
}

static void *b(void *unused) {
    name[0] = '#';
    name[0] = 'p';
    return unused;
}

int main(void) {
    go(a, b);
    if (!r) abort();
    return 0;
}
