#include "two_threads.h"

static int first_given, second_given;
static struct option options[] = {
    {"first", 0, &first_given, 1},
    {"second", 0, &second_given, 1},
    {0},
};
static char *arguments[] = {"program", "--second", 0};

static void *read_options(void *unused) {
    assert(getopt_long(2, arguments, "", options, 0) == 0);
    return unused;
}

static void *look(void *unused) {
    assert(!second_given);
    return unused;
}

int main(void) {
    go(read_options, look);
}
