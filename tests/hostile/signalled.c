/* A program that ends when it gets SIGTERM, for clients that send it.

   handler    a handler sets a flag, and main waits by `pause` unless it is set: the signal may come in between
   suspend    the same with `sigsuspend`, which waits and unblocks at once
   waits      all threads block it, and one waits for it by `sigwait`
   pipe       a handler writes to a pipe, of which main waits for the other end
   file       main reads it from a descriptor (`signalfd`)
   counts     main and a handler count the same requests (SIGUSR1), one of them without the other's knowledge */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;
static volatile int requests;
static int ends[2];

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static void tell(int signal) {
    (void)signal;
    (void)!write(ends[1], "!", 1);
}

static void count(int signal) {
    (void)signal;
    requests++;
}

static void handle(int signal, void (*how)(int)) {
    struct sigaction action = {.sa_handler = how};
    sigaction(signal, &action, NULL);
}

static void block(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, set, NULL);
}

static void *wait_for_it(void *set) {
    int signal = 0;
    if (sigwait(set, &signal) || signal != SIGTERM)
        abort();
    return NULL;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    sigset_t set, before;
    if (strcmp(mode, "handler") == 0) {
        handle(SIGTERM, stop);
        while (!stopped)
            pause();
    } else if (strcmp(mode, "suspend") == 0) {
        block(&set);
        sigemptyset(&before);
        handle(SIGTERM, stop);
        while (!stopped)
            sigsuspend(&before);
    } else if (strcmp(mode, "waits") == 0) {
        pthread_t waiter;
        block(&set);
        pthread_create(&waiter, NULL, wait_for_it, &set);
        pthread_join(waiter, NULL);
    } else if (strcmp(mode, "pipe") == 0) {
        if (pipe(ends))
            return 2;
        handle(SIGTERM, tell);
        struct pollfd one = {.fd = ends[0], .events = POLLIN};
        while (poll(&one, 1, -1) < 1)
            continue;
    } else if (strcmp(mode, "file") == 0) {
        struct signalfd_siginfo info;
        block(&set);
        int file = signalfd(-1, &set, 0);
        if (read(file, &info, sizeof info) != sizeof info || info.ssi_signo != SIGTERM)
            return 2;
    } else if (strcmp(mode, "counts") == 0) {
        handle(SIGUSR1, count);
        handle(SIGTERM, stop);
        int seen = requests;
        requests = seen + 1;
        sigemptyset(&before);
        block(&set);
        while (!stopped)
            sigsuspend(&before);
        if (requests != 2)
            abort();
    } else {
        return 2;
    }
    puts("stopped");
    return 0;
}
