#include "two_threads.h"

static int file;

__attribute__((constructor)) static void redirect(void) {
    char name[] = "/tmp/redirected-XXXXXX";
    file = mkstemp(name);
    unlink(name);
    dup2(file, STDOUT_FILENO);
}

static void *print(void *unused) {
    return (void *)write(STDOUT_FILENO, "a", 1);
}

static void *nothing(void *unused) { return unused; }

int main(void) {
    char text = 0;
    go(print, nothing);
    assert(pread(file, &text, 1, 0) == 1 && text == 'a');
}
