// snprintf prints a string that another thread changes for a moment: the text can be the changed one.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile char word[2];
static void *worker(void *u) {
    word[0] = 'a';
    word[0] = 0;
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char text[64];
    // The string is one of the arguments that are passed on the stack.
    int length = snprintf(text, sizeof text, "%d %.2f %*d %s", 1, 1.5, 3, 2, (const char *)word);
    pthread_join(a, 0);
    if (text[length - 1] == 'a') abort();
    return 0;
}
