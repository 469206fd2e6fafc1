// A file moves from one directory to the other while both are walked: it is met twice or not at all.
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static int met;
static int meet(const char *path, const struct stat *status, int kind) {
    met += kind == FTW_F;
    return 0;
}
static void *mover(void *u) {
    if (rename("top/a/x", "top/b/x")) exit(3);
    return u;
}
int main(void) {
    if (mkdir("top", 0700) || mkdir("top/a", 0700) || mkdir("top/b", 0700)) return 3;
    close(open("top/a/x", O_CREAT | O_RDWR, 0600));
    pthread_t a;
    pthread_create(&a, 0, mover, 0);
    if (ftw("top", meet, 4)) return 3;
    if (met != 1) abort();
    pthread_join(a, 0);
    return 0;
}
