#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static _Thread_local int own;
static int *shown;
static sem_t ready, written;

static void *shows(void *unused) {
    (void)unused;
    shown = &own;
    sem_post(&ready);
    sem_wait(&written);
    assert(own == 1);
    return 0;
}

static void *returns(void *argument) { return argument; }

static void *creates(void *argument) {
    pthread_t thread;
    void *result;
    assert(pthread_create(&thread, 0, returns, argument) == 0);
    assert(pthread_join(thread, &result) == 0);
    assert(result == argument);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    sem_init(&ready, 0, 0);
    sem_init(&written, 0, 0);
    for (int i = 0; i < 8; i++) {
        pthread_create(&threads[0], 0, shows, 0);
        sem_wait(&ready);
        *shown = 1;
        sem_post(&written);
        pthread_join(threads[0], 0);
    }
    int arguments[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, creates, &arguments[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
