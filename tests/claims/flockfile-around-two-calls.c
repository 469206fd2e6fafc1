// Each thread prints twice under flockfile: the two texts of a thread stay together.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static FILE *file;
static void print(const char *text) {
    flockfile(file);
    fputs_unlocked(text, file);
    fputs_unlocked(text, file);
    funlockfile(file);
}
static void *worker(void *u) {
    print("a");
    return u;
}
int main(void) {
    file = tmpfile();
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    print("b");
    pthread_join(a, 0);
    char text[8] = "";
    rewind(file);
    fread(text, 1, 4, file);
    if (strcmp(text, "aabb") && strcmp(text, "bbaa")) abort();
    return 0;
}
