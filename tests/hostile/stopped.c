/* Programs that stop themselves, as those do that a shell suspends (Ctrl-Z).

   suspends   the usual way: a handler of SIGTSTP restores the default, stops the process, and installs itself again
   redraws    a thread stops the process, and the handler of SIGCONT changes what main is reading
   discards   SIGCONT discards a pending SIGTSTP, and SIGTSTP a pending SIGCONT
   timer      a timer sends SIGTSTP */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int width = 80, height = 24;
static volatile sig_atomic_t suspended, continued;

static void on_continue(int signal) {
    (void)signal;
    continued++;
    width = 100;
    height = 30;
}

static void on_stop(int which) {
    suspended++;
    signal(SIGTSTP, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(which);
    signal(SIGTSTP, on_stop);
}

static void *suspend(void *none) {
    kill(getpid(), SIGSTOP);
    return none;
}

static int is_pending(int signal) {
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, signal);
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "suspends";
    if (strcmp(mode, "suspends") == 0) {
        signal(SIGCONT, on_continue);
        signal(SIGTSTP, on_stop);
        raise(SIGTSTP);
        raise(SIGTSTP);
        printf("suspended %d, continued %d\n", suspended, continued);
    } else if (strcmp(mode, "redraws") == 0) {
        signal(SIGCONT, on_continue);
        pthread_t thread;
        pthread_create(&thread, NULL, suspend, NULL);
        int columns = width, lines = height;
        assert((columns == 80) == (lines == 24));
        pthread_join(thread, NULL);
        assert(continued == 1);
    } else if (strcmp(mode, "discards") == 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTSTP);
        sigaddset(&set, SIGCONT);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGTSTP);
        assert(is_pending(SIGTSTP));
        signal(SIGCONT, on_continue);
        raise(SIGCONT);
        assert(!is_pending(SIGTSTP) && is_pending(SIGCONT));
        kill(getpid(), SIGTSTP);
        assert(is_pending(SIGTSTP) && !is_pending(SIGCONT));
    } else {
        timer_t timer;
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTSTP};
        timer_create(CLOCK_MONOTONIC, &event, &timer);
        struct itimerspec soon = {.it_value = {.tv_nsec = 1000}};
        timer_settime(timer, 0, &soon, NULL);
        sleep(1);
    }
    return 0;
}
