// A signal for the process goes to a thread that does not mask it when it is sent.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>
static sem_t handled;
static void handler(int s) { (void)s; sem_post(&handled); }
static void *worker(void *u) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    while (sem_wait(&handled)) {}
    return u;
}
int main(void) {
    pthread_t a;
    sigset_t set;
    sem_init(&handled, 0, 0);
    signal(SIGUSR1, handler);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&a, 0, worker, 0);
    kill(getpid(), SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
