// A signal for the process that comes while the only thread that takes it runs a handler is handled after it.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>
static sem_t handled, end;
static void handler(int s) { (void)s; sem_post(&handled); }
static void *worker(void *u) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    while (sem_wait(&end)) {}
    return u;
}
int main(void) {
    pthread_t a;
    struct sigaction action = { .sa_handler = handler };
    sem_init(&handled, 0, 0);
    sem_init(&end, 0, 0);
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    pthread_sigmask(SIG_BLOCK, &action.sa_mask, 0);
    pthread_create(&a, 0, worker, 0);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    sem_wait(&handled);
    sem_wait(&handled);
    sem_post(&end);
    pthread_join(a, 0);
    return 0;
}
