// Main finds the signal that the thread sends.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
static void *sender(void *u) {
    kill(getpid(), SIGUSR1);
    return u;
}
int main(void) {
    pthread_t a;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    struct pollfd one = {signalfd(-1, &set, SFD_NONBLOCK), POLLIN, 0};
    pthread_create(&a, 0, sender, 0);
    assert(poll(&one, 1, 0) == 0);
    pthread_join(a, 0);
    return 0;
}
