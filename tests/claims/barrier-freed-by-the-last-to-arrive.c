#include <pthread.h>
#include <stdlib.h>
struct meeting {
    char text[600];
    pthread_barrier_t barrier;
};
static void *meet(void *arg) {
    struct meeting *meeting = arg;
    if (pthread_barrier_wait(&meeting->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        pthread_barrier_destroy(&meeting->barrier);
        free(meeting);
    }
    return NULL;
}
int main(void) {
    struct meeting *meeting = malloc(sizeof *meeting);
    pthread_barrier_init(&meeting->barrier, NULL, 2);
    pthread_t thread;
    pthread_create(&thread, NULL, meet, meeting);
    meet(meeting);
    pthread_join(thread, NULL);
    return 0;
}
