// A thread sets a variable and removes it; main looks for it in environ: it can be there.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *worker(void *u) {
    setenv("HEDDLE_CLAIM", "1", 1);
    unsetenv("HEDDLE_CLAIM");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int found = 0;
    for (char **one = environ; *one; one++) found |= !strncmp(*one, "HEDDLE_CLAIM=", 13);
    pthread_join(a, 0);
    if (found) abort();
    return 0;
}
