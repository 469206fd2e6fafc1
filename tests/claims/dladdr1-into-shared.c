#include "two_threads.h"

#include <dlfcn.h>
static Dl_info q;
static void *volatile i;

static void *a(void *unused) {
    dladdr1((void *)puts, &q, (void **)&i, RTLD_DL_SYMENT);
    return unused;
}

static void *b(void *unused) {
    i = (void *)7;
    if (i != (void *)7) abort();
    return unused;
}

int main(void) {
    go(a, b);
    return 0;
}
