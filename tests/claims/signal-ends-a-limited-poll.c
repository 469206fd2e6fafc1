// A signal that is handled while the thread waits ends the poll, which has a limit of a minute.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static int ends[2];
static void handle(int signal) { (void)signal; }
static void *poller(void *u) {
    struct pollfd one = {ends[0], POLLIN, 0};
    assert(poll(&one, 1, 60000) != -1);
    return u;
}
int main(void) {
    pthread_t a;
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, 0);
    assert(!pipe(ends));
    pthread_create(&a, 0, poller, 0);
    usleep(10000);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
