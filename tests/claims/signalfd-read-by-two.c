// Two threads read one signal from a descriptor: one of them waits forever.
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
static int descriptor;
static void *reader(void *u) {
    struct signalfd_siginfo info;
    return read(descriptor, &info, sizeof info) == sizeof info ? u : 0;
}
int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    descriptor = signalfd(-1, &set, 0);
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, reader, 0);
    kill(getpid(), SIGTERM);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
