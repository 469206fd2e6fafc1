#include "two_threads.h"

static int first_given, second_given;
static char name[] = "second";
static struct option options[] = {
    {"first", 0, &first_given, 1},
    {name, 0, &second_given, 1},
    {0},
};
static char *arguments[] = {"program", "--second", 0};

static void *read_options(void *unused) {
    assert(getopt_long(2, arguments, "", options, 0) == 0);
    return unused;
}

static void *change(void *unused) {
    volatile char *letter = &name[0];
    *letter = 'z';
    *letter = 's';
    return unused;
}

int main(void) {
    opterr = 0;
    go(read_options, change);
}
