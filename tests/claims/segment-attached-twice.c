// A System V segment is attached twice: a word that changes for a moment can be seen at the other address.
#include <pthread.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/shm.h>
static volatile int *one, *other;
static void *worker(void *u) {
    one[7] = 1;
    one[7] = 0;
    return u;
}
int main(void) {
    int segment = shmget(IPC_PRIVATE, 4096, 0600);
    one = shmat(segment, 0, 0);
    other = shmat(segment, 0, 0);
    shmctl(segment, IPC_RMID, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int c = other[7];
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
