/* Main waits by `WAIT`, which unblocks SIGTERM. Another thread sends SIGUSR1, which main never blocks, and then
   SIGTERM. If the first handler runs before the wait, SIGTERM comes while it is blocked, and is due when the wait
   begins. The loop always ends. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int stopped;
static atomic_int requests;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static void count(int signal) {
    (void)signal;
    requests++;
}

static void *sender(void *unused) {
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGTERM);
    if (requests > 1)
        abort();
    return unused;
}

int main(void) {
    struct sigaction counts = {.sa_handler = count}, stops = {.sa_handler = stop};
    sigset_t set, none;
    pthread_t thread;
    sigaction(SIGUSR1, &counts, NULL);
    sigaction(SIGTERM, &stops, NULL);
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, sender, NULL);
    while (!stopped)
        WAIT(&none);
    pthread_join(thread, NULL);
    printf("%d\n", requests);
    return 0;
}
