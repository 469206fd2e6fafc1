// Each of two threads takes what main adds to a semaphore without a key in two steps.
#include <assert.h>
#include <pthread.h>
#include <sys/sem.h>
static int set;
static void *taker(void *u) {
    struct sembuf down = {0, -1, 0};
    assert(!semop(set, &down, 1));
    return u;
}
int main(void) {
    pthread_t a, b;
    set = semget(IPC_PRIVATE, 1, 0600);
    pthread_create(&a, 0, taker, 0);
    pthread_create(&b, 0, taker, 0);
    struct sembuf up = {0, 1, 0};
    semop(set, &up, 1);
    semop(set, &up, 1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
