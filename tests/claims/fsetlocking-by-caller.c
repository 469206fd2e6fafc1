// The program takes it upon itself to lock the stream, and does not.
#include "two_threads.h"

static FILE *stream;

static void *a(void *unused) {
    fputs("a", stream);
    return unused;
}

static void *b(void *unused) {
    fputs("b", stream);
    return unused;
}

int main(void) {
    stream = tmpfile();
    __fsetlocking(stream, FSETLOCKING_BYCALLER);
    fputs("x", stream);
    go(a, b);
    if (ftell(stream) != 3) abort();
    return 0;
}
