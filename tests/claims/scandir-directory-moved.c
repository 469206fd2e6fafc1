#include "two_threads.h"

static struct dirent **l;
static int n;

static void *a(void *unused) {
    n = scandir("sc-d", &l, 0, alphasort);
    return unused;
}

static void *b(void *unused) {
    rename("sc-d", "sc-e");
    close(creat("sc-e/new", 0600));
    return unused;
}

int main(void) {
    mkdir("sc-d", 0700);
    go(a, b);
    int bad = 0;
    for (int i = 0; i < n; i++) if (!strcmp(l[i]->d_name, "new")) bad = 1;
    unlink("sc-e/new");
    rmdir("sc-e");
    if (bad) abort();
    return 0;
}
