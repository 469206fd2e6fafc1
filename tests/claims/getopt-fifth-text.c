#include "two_threads.h"

static char fifth[] = "-a";
static char *arguments[] = {"program", "-a", "-a", "-a", "-a", fifth, 0};

static void *read_options(void *unused) {
    for (int at = 1; at < 6; at++) assert(getopt(6, arguments, "a") == 'a');
    return unused;
}

static void *change(void *unused) {
    volatile char *option = &fifth[1];
    *option = 'z';
    *option = 'a';
    return unused;
}

int main(void) {
    opterr = 0;
    go(read_options, change);
}
