// A text is written by snprintf while another thread writes one of its characters: a race.
#include <pthread.h>
#include <stdio.h>
char text[32];
static void *worker(void *u) {
    snprintf(text, sizeof text, "%d %s %f", 12345, "abc", 1.5);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    text[3] = 'x';
    pthread_join(a, 0);
    return 0;
}
