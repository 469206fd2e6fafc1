#include "two_threads.h"

#include <dlfcn.h>
static volatile Dl_info i;

static void *a(void *unused) {
    dladdr((void *)go, (Dl_info *)&i);
    return unused;
}

static void *b(void *unused) {
    i.dli_fname = (char *)7;
    if (i.dli_fname != (char *)7) abort();
    return unused;
}

int main(void) {
    go(a, b);
    return 0;
}
