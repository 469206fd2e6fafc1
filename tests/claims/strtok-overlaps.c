// Two threads take the next token of one list. The C library does not protect the position, so both can get the same.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char text[] = "a b c d", *got[2];
static void *worker(void *which) {
    got[(long)which] = strtok(0, " ");
    return 0;
}
int main(void) {
    pthread_t a, b;
    strtok(text, " ");
    pthread_create(&a, 0, worker, (void *)0);
    pthread_create(&b, 0, worker, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (got[0] == got[1]) abort();
    return 0;
}
