// mbstowcs converts a string while another thread changes its two characters one after the other.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static volatile char text[3] = "ab";
static void *worker(void *u) {
    text[0] = 'x';
    text[1] = 'y';
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    wchar_t wide[3];
    mbstowcs(wide, (const char *)text, 3);
    pthread_join(a, 0);
    if (wide[0] == L'a' && wide[1] == L'y') abort();
    return 0;
}
