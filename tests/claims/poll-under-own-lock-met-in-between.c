// A thread polls a flag under a lock that is a word of the program. The check fails if main finds the word
// taken after the thread has begun to poll.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_flag word = ATOMIC_FLAG_INIT;
static atomic_int flag;
static sem_t begun;
static void *poller(void *u) {
    sem_post(&begun);
    for (;;) {
        while (atomic_flag_test_and_set(&word)) {}
        int f = flag;
        atomic_flag_clear(&word);
        if (f) return u;
        usleep(1000);
    }
}
int main(void) {
    pthread_t a;
    sem_init(&begun, 0, 0);
    pthread_create(&a, 0, poller, 0);
    sem_wait(&begun);
    assert(!atomic_flag_test_and_set(&word));
    atomic_flag_clear(&word);
    flag = 1;
    pthread_join(a, 0);
    return 0;
}
