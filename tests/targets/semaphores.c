/* Two threads in strict turns, by two semaphores. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#define TURNS 3

static sem_t ping, pong;
static int turn;

static void *answer(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        sem_wait(&ping);
        assert(turn == 2 * i + 1);
        turn++;
        sem_post(&pong);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int value = -1;
    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    assert(sem_trywait(&ping) == -1 && errno == EAGAIN);
    pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < TURNS; i++) {
        assert(turn == 2 * i);
        turn++;
        sem_post(&ping);
        sem_wait(&pong);
    }
    pthread_join(thread, NULL);
    assert(sem_getvalue(&ping, &value) == 0 && value == 0);
    sem_destroy(&ping);
    sem_destroy(&pong);
    return 0;
}
