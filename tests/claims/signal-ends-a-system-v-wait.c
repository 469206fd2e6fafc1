// A handler with SA_RESTART runs while the thread waits for a System V semaphore: the wait is not restarted.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>
static int set;
static void handle(int signal) { (void)signal; }
static void *waiter(void *u) {
    struct sembuf take = {0, -1, 0};
    assert(semop(set, &take, 1) == 0);
    return u;
}
int main(void) {
    pthread_t a;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct sembuf give = {0, 1, 0};
    sigaction(SIGUSR1, &action, 0);
    set = semget(IPC_PRIVATE, 1, 0600);
    pthread_create(&a, 0, waiter, 0);
    usleep(10000);
    pthread_kill(a, SIGUSR1);
    assert(semop(set, &give, 1) == 0);
    pthread_join(a, 0);
    return 0;
}
