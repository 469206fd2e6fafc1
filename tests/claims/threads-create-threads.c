#include <pthread.h>

static void *returns(void *argument) { return argument; }

static void *creates(void *argument) {
    pthread_t thread;
    pthread_create(&thread, 0, returns, argument);
    pthread_join(thread, 0);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, creates, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
