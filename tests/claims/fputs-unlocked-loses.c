// Two calls without the lock of the stream overwrite each other.
#include "two_threads.h"

static FILE *stream;

static void *a(void *unused) {
    fputs_unlocked("a", stream);
    return unused;
}

static void *b(void *unused) {
    fputs_unlocked("b", stream);
    return unused;
}

int main(void) {
    stream = tmpfile();
    fputs("x", stream);
    go(a, b);
    if (ftell(stream) != 3) abort();
    return 0;
}
