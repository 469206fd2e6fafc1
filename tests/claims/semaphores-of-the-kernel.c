// semop waits until all its operations are possible, semtimedop at most as long as it says.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/sem.h>
#include <time.h>
static int id;
static void *waiter(void *u) {
    struct sembuf both[] = {{0, -1, 0}, {1, -1, 0}};
    assert(!semop(id, both, 2));
    return u;
}
int main(void) {
    id = semget(IPC_PRIVATE, 2, 0600);
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    for (unsigned short i = 0; i < 2; i++) {
        struct sembuf up = {i, 1, 0};
        assert(!semop(id, &up, 1));
    }
    pthread_join(t, 0);
    struct sembuf down = {0, -1, 0};
    struct timespec hour = {3600, 0};
    assert(semtimedop(id, &down, 1, &hour) == -1 && errno == EAGAIN);
    down.sem_flg = IPC_NOWAIT;
    assert(semop(id, &down, 1) == -1 && errno == EAGAIN);
    semctl(id, 0, IPC_RMID);
    return 0;
}
