// Each thread makes a text in its own memory, and scans it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char texts[2][32];
static void *worker(void *number) {
    char *text = texts[(long)number], *next = text;
    int value = 0;
    sprintf(text, "%ld", 4 + (long)number);
    strcat(text, " 7");
    sscanf(text, "%d", &value);
    if (value != 4 + (long)number) abort();
    strsep(&next, " ");
    if (strcmp(next, "7")) abort();
    return number;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, (void *)0);
    pthread_create(&b, 0, worker, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
