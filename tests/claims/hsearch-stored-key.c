#include "two_threads.h"

static volatile char k[2] = "k";
static int lost;

static void *a(void *unused) {
    ENTRY e = {"k", 0};
    lost = hsearch(e, FIND) == 0;
    return unused;
}

static void *b(void *unused) {
    k[0] = 'x';
    k[0] = 'k';
    return unused;
}

int main(void) {
    ENTRY e = {(char *)k, 0};
    hcreate(4);
    hsearch(e, ENTER);
    go(a, b);
    if (lost) abort();
    return 0;
}
