#include "two_threads.h"

#include <sys/un.h>
static int s;
static struct sockaddr_un un;
static int old;

static void *a(void *unused) {
    bind(s, (void *)&un, sizeof un);
    return unused;
}

static void *b(void *unused) {
    chdir("brp-sub");
    fchdir(old);
    return unused;
}

int main(void) {
    mkdir("brp-sub", 0700);
    old = open(".", O_RDONLY);
    s = socket(AF_UNIX, SOCK_STREAM, 0);
    un.sun_family = AF_UNIX;
    strcpy(un.sun_path, "brp-sock");
    unlink("brp-sock");
    unlink("brp-sub/brp-sock");
    go(a, b);
    int bad = access("brp-sub/brp-sock", F_OK) == 0;
    unlink("brp-sock");
    unlink("brp-sub/brp-sock");
    rmdir("brp-sub");
    if (bad) abort();
    return 0;
}
