// One snprintf prints two strings that another thread changes one after the other: it can have the old first and the new second.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile char one[2] = "a", two[2] = "a";
static void *worker(void *u) {
    one[0] = 'b';
    two[0] = 'b';
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char text[8];
    snprintf(text, sizeof text, "%s%s", (const char *)one, (const char *)two);
    pthread_join(a, 0);
    if (!strcmp(text, "ab")) abort();
    return 0;
}
