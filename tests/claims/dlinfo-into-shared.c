#include "two_threads.h"

#include <dlfcn.h>
#include <link.h>
static struct link_map *volatile i;
static void *h;

static void *a(void *unused) {
    dlinfo(h, RTLD_DI_LINKMAP, (void *)&i);
    return unused;
}

static void *b(void *unused) {
    i = (void *)7;
    if (i != (void *)7) abort();
    return unused;
}

int main(void) {
    h = dlopen("libm.so.6", RTLD_NOW);
    go(a, b);
    return 0;
}
