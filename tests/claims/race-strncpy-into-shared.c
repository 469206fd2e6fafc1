// A text is copied by strncpy while another thread writes one of its characters: a race.
#include <pthread.h>
#include <string.h>
char text[32], source[] = "hello";
static void *worker(void *u) {
    strncpy(text, source, sizeof text);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    text[3] = 'x';
    pthread_join(a, 0);
    return 0;
}
