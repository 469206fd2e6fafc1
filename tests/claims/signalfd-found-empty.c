// The signal may come before or after the one read that does not wait.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
static void *sender(void *u) {
    kill(getpid(), SIGUSR1);
    return u;
}
int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    int descriptor = signalfd(-1, &set, SFD_NONBLOCK);
    pthread_t a;
    pthread_create(&a, 0, sender, 0);
    struct signalfd_siginfo info;
    assert(read(descriptor, &info, sizeof info) == sizeof info);
    pthread_join(a, 0);
    return 0;
}
