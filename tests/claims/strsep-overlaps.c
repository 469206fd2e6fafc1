// Two threads take the next token of one list by strsep, whose position is a variable of the program.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char text[] = "a b c d", *position = text, *got[2];
static void *worker(void *which) {
    got[(long)which] = strsep(&position, " ");
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, (void *)0);
    pthread_create(&b, 0, worker, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (got[0] == got[1]) abort();
    return 0;
}
