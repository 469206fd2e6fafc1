#include "two_threads.h"

static volatile struct dirent d1, d2;
static const struct dirent *p1 = (void *)&d1, *p2 = (void *)&d2;
static int r;

static void *a(void *unused) {
    r = alphasort(&p1, &p2);
    return unused;
}

static void *b(void *unused) {
    d1.d_name[0] = 'z';
    d1.d_name[0] = 'a';
    return unused;
}

int main(void) {
    d1.d_name[0] = 'a';
    d2.d_name[0] = 'b';
    go(a, b);
    if (r > 0) abort();
    return 0;
}
