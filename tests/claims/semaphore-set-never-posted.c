// A thread waits for a semaphore without a key, which only this program can have.
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
static int set;
static void *taker(void *u) {
    struct sembuf take = {.sem_op = -1};
    semop(set, &take, 1);
    return u;
}
int main(void) {
    pthread_t a;
    set = semget(IPC_PRIVATE, 1, 0600);
    pthread_create(&a, 0, taker, 0);
    pthread_join(a, 0);
    return 0;
}
