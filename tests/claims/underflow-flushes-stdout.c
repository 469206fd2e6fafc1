// Reading an unbuffered stream writes what line-buffered standard output has collected.
#include "two_threads.h"

static int file;
static FILE *stream;

static void *a(void *unused) {
    getc(stream);
    return unused;
}

static void *b(void *unused) {
    lseek(file, 100, SEEK_SET);
    lseek(file, 0, SEEK_SET);
    return unused;
}

int main(void) {
    struct stat status;
    file = memfd_create("output", 0);
    dup2(file, 1);
    setvbuf(stdout, 0, _IOLBF, 0);
    fputs("abc", stdout);
    stream = fopen("/dev/zero", "r");
    setvbuf(stream, 0, _IONBF, 0);
    go(a, b);
    fstat(file, &status);
    if (status.st_size > 100) abort();
    _exit(0);
}
