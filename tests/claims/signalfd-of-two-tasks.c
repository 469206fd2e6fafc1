// Each signal is read once, also one for the thread, in whichever order they come: nothing can go wrong.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
static pthread_t reader;
static void *sender(void *u) {
    kill(getpid(), SIGUSR1);
    pthread_kill(reader, SIGUSR2);
    return u;
}
int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    int descriptor = signalfd(-1, &set, SFD_NONBLOCK), seen = 0;
    struct signalfd_siginfo info[3];
    assert(read(descriptor, info, sizeof info) == -1);
    reader = pthread_self();
    pthread_t a;
    pthread_create(&a, 0, sender, 0);
    while (seen != 3) {
        struct pollfd one = { descriptor, POLLIN | POLLOUT, 0 };
        assert(poll(&one, 1, -1) == 1 && one.revents == POLLIN);
        long count = read(descriptor, info, sizeof info) / sizeof *info;
        assert(count > 0);
        for (long i = 0; i < count; i++)
            seen |= info[i].ssi_signo == SIGUSR1 ? 1 : 2;
    }
    pthread_join(a, 0);
    return 0;
}
