// A handler with SA_RESTART runs while the thread waits for a semaphore with a time limit: the wait is not restarted.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static sem_t posted;
static void handle(int signal) { (void)signal; }
static void *waiter(void *u) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 3600;
    assert(sem_timedwait(&posted, &limit) == 0 || errno != EINTR);
    return u;
}
int main(void) {
    pthread_t a;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    sem_init(&posted, 0, 0);
    pthread_create(&a, 0, waiter, 0);
    usleep(10000);
    pthread_kill(a, SIGUSR1);
    sem_post(&posted);
    pthread_join(a, 0);
    return 0;
}
