// snprintf has written the first character before it reads a string, which a thread that sees the character changes.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile char text[8], word[2] = "a";
static void *worker(void *u) {
    if (text[0] == '1') word[0] = 'b';
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    snprintf((char *)text, sizeof text, "1%s", (const char *)word);
    pthread_join(a, 0);
    if (text[1] == 'b') abort();
    return 0;
}
