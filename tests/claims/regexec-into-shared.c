// regexec stores where it found the expression. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
static regex_t expression;
static regmatch_t found[1] = {{9, 9}};
static void *worker(void *u) {
    regexec(&expression, "xab", 1, found, 0);
    return u;
}
int main(void) {
    pthread_t a;
    regcomp(&expression, "ab", 0);
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(found[0].rm_so) *)&found[0].rm_so;
    long after = (long)*(volatile __typeof__(found[0].rm_so) *)&found[0].rm_so;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
