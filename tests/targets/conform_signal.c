/* Conformance: the standard and the manual pages on signals in programs with threads: masks, pending
 * signals, handlers, waiting for signals, queues of real-time signals, and interrupted calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static volatile sig_atomic_t runs, last, code, sender, nested, masked, order[8];
static sem_t begun, never;
static pthread_t target;

static long or_errno(long answer)
{
    return answer == -1 ? -errno : answer;
}

static sigset_t only(int signal)
{
    sigset_t set;
    sigemptyset(&set);
    if (signal)
        sigaddset(&set, signal);
    return set;
}

static int is_masked(int signal)
{
    sigset_t now;
    CHECK(0, pthread_sigmask(SIG_BLOCK, NULL, &now));
    return sigismember(&now, signal);
}

static int is_pending(int signal)
{
    sigset_t now;
    CHECK(0, sigpending(&now));
    return sigismember(&now, signal);
}

static void note(int signal, siginfo_t *info, void *context)
{
    CHECK(signal, info->si_signo);
    order[runs++ & 7] = info->si_code == SI_QUEUE ? info->si_value.sival_int : signal;
    last = signal;
    code = info->si_code;
    sender = info->si_pid == getpid() && info->si_uid == getuid();
    masked = is_masked(signal) + 2 * is_masked(SIGUSR2);
    CHECK(1, context != NULL);
}

static void handle(int signal, void (*function)(int, siginfo_t *, void *), int flags, int also)
{
    struct sigaction action = { .sa_sigaction = function, .sa_flags = SA_SIGINFO | flags }, now;
    action.sa_mask = only(also);
    CHECK(0, sigaction(signal, &action, NULL));
    CHECK(0, sigaction(signal, NULL, &now));
    CHECK(1, now.sa_sigaction == function);
    CHECK(SA_SIGINFO | flags, now.sa_flags & ~0x04000000);
    CHECK(!!also, also && sigismember(&now.sa_mask, also));
    runs = 0;
}

static void masks(void)
{
    sigset_t set = only(SIGUSR1), old, all;
    CHECK(0, pthread_sigmask(SIG_SETMASK, &set, &old));
    CHECK(0, sigismember(&old, SIGUSR1));
    CHECK(1, is_masked(SIGUSR1));
    set = only(SIGUSR2);
    CHECK(0, pthread_sigmask(SIG_BLOCK, &set, &old));
    CHECK(1, sigismember(&old, SIGUSR1));
    CHECK(0, sigismember(&old, SIGUSR2));
    CHECK(1, is_masked(SIGUSR1) && is_masked(SIGUSR2));
    CHECK(0, pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    CHECK(1, is_masked(SIGUSR1) && !is_masked(SIGUSR2));
    /* The operation is not checked if the set is null. */
    CHECK(0, pthread_sigmask(77, NULL, &old));
    CHECK(EINVAL, pthread_sigmask(77, &set, NULL));
    CHECK(-EINVAL, or_errno(sigprocmask(77, &set, NULL)));
    /* These two cannot be masked, and no error is reported. */
    sigfillset(&all);
    CHECK(0, pthread_sigmask(SIG_BLOCK, &all, NULL));
    CHECK(0, is_masked(SIGKILL));
    CHECK(0, is_masked(SIGSTOP));
    CHECK(1, is_masked(SIGTERM));
    sigemptyset(&all);
    CHECK(0, pthread_sigmask(SIG_SETMASK, &all, NULL));
    CHECK(-EINVAL, or_errno(sigaction(SIGKILL, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL)));
    CHECK(-EINVAL, or_errno(sigaction(77, NULL, NULL)));
    CHECK(-EINVAL, or_errno(sigaddset(&set, 77)));
    CHECK(-EINVAL, or_errno(raise(77)));
    CHECK(-EINVAL, or_errno(kill(getpid(), 77)));
}

static void *is_inherited(void *unused)
{
    /* The mask is inherited from the creator, pending signals are not. */
    CHECK(1, is_masked(SIGUSR1));
    CHECK(0, is_pending(SIGUSR1));
    sigset_t set = only(0);
    CHECK(0, pthread_sigmask(SIG_SETMASK, &set, NULL));
    return unused;
}

static void *by_attribute(void *unused)
{
    CHECK(0, is_masked(SIGUSR1));
    CHECK(1, is_masked(SIGHUP));
    return unused;
}

static void inheritance(void)
{
    sigset_t set = only(SIGUSR1), got;
    handle(SIGUSR1, note, 0, 0);
    CHECK(0, pthread_sigmask(SIG_SETMASK, &set, NULL));
    CHECK(0, raise(SIGUSR1));
    CHECK(1, is_pending(SIGUSR1));
    run_in_thread(is_inherited, NULL);
    CHECK(1, is_masked(SIGUSR1));
    CHECK(0, runs);
    pthread_attr_t a;
    pthread_t thread;
    CHECK(0, pthread_attr_init(&a));
    CHECK(PTHREAD_ATTR_NO_SIGMASK_NP, pthread_attr_getsigmask_np(&a, &got));
    set = only(SIGHUP);
    CHECK(0, pthread_attr_setsigmask_np(&a, &set));
    CHECK(0, pthread_attr_getsigmask_np(&a, &got));
    CHECK(1, sigismember(&got, SIGHUP));
    CHECK(0, pthread_create(&thread, &a, by_attribute, NULL));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_attr_setsigmask_np(&a, NULL));
    CHECK(PTHREAD_ATTR_NO_SIGMASK_NP, pthread_attr_getsigmask_np(&a, &got));
    CHECK(0, pthread_attr_destroy(&a));
    /* A signal is pending once, even if it was sent several times. */
    CHECK(0, raise(SIGUSR1));
    set = only(0);
    CHECK(0, pthread_sigmask(SIG_SETMASK, &set, NULL));
    CHECK(1, runs);
}

static void handlers(void)
{
    handle(SIGUSR1, note, 0, SIGUSR2);
    CHECK(0, raise(SIGUSR1));
    /* Its own signal and those of the action are masked in a handler, and only there. */
    CHECK(3, masked);
    CHECK(0, is_masked(SIGUSR1) + is_masked(SIGUSR2));
    CHECK(SI_TKILL, code);
    CHECK(1, sender);
    handle(SIGUSR1, note, SA_NODEFER, 0);
    CHECK(0, pthread_kill(pthread_self(), SIGUSR1));
    CHECK(0, masked);
    CHECK(SI_TKILL, code);
    handle(SIGUSR1, note, 0, 0);
    CHECK(0, kill(getpid(), SIGUSR1));
    CHECK(SI_USER, code);
    CHECK(1, sender);
    CHECK(0, sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 5 }));
    CHECK(SI_QUEUE, code);
    CHECK(5, order[1]);
    CHECK(1, sender);
    CHECK(0, pthread_sigqueue(pthread_self(), SIGUSR1, (union sigval){ .sival_int = 0 }));
    CHECK(SI_QUEUE, code);
    CHECK(0, order[2]);
    /* The action is reset after one delivery, if that was requested. */
    handle(SIGUSR1, note, SA_RESETHAND, 0);
    CHECK(0, raise(SIGUSR1));
    CHECK(1, runs);
    struct sigaction now;
    CHECK(0, sigaction(SIGUSR1, NULL, &now));
    CHECK(1, now.sa_handler == SIG_DFL);
    /* An ignored signal is discarded, even if it is masked. */
    CHECK(1, signal(SIGUSR1, SIG_IGN) == SIG_DFL);
    CHECK(0, raise(SIGUSR1));
    handle(SIGUSR1, note, 0, 0);
    CHECK(0, runs);
    CHECK(0, raise(SIGCHLD));
    CHECK(0, raise(SIGURG));
    CHECK(0, raise(SIGWINCH));
    CHECK(1, signal(77, SIG_IGN) == SIG_ERR && errno == EINVAL);
}

static void again(int signal, siginfo_t *info, void *context)
{
    if (runs == 0) {
        runs++;
        CHECK(0, raise(signal));
        /* Nested delivery waits until this handler has returned. */
        CHECK(1, runs);
        CHECK(1, is_pending(signal));
        nested = 1;
        return;
    }
    runs++;
    (void)info, (void)context;
}

static void real_time(void)
{
    sigset_t set = only(SIGRTMIN), all;
    siginfo_t info;
    handle(SIGUSR1, again, 0, 0);
    CHECK(0, raise(SIGUSR1));
    CHECK(1, nested);
    CHECK(2, runs);
    handle(SIGRTMIN, note, 0, 0);
    handle(SIGRTMIN + 1, note, 0, 0);
    sigaddset(&set, SIGRTMIN + 1);
    CHECK(0, pthread_sigmask(SIG_BLOCK, &set, NULL));
    /* Each is delivered: lower numbers first, those of one number in the order in which they were sent. */
    CHECK(0, pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){ .sival_int = 21 }));
    for (int i = 11; i < 14; i++)
        CHECK(0, pthread_sigqueue(pthread_self(), SIGRTMIN, (union sigval){ .sival_int = i }));
    CHECK(1, is_pending(SIGRTMIN) && is_pending(SIGRTMIN + 1));
    CHECK(SIGRTMIN, sigwaitinfo(&set, &info));
    CHECK(11, info.si_value.sival_int);
    CHECK(SI_QUEUE, info.si_code);
    CHECK(1, is_pending(SIGRTMIN));
    CHECK(0, runs);
    sigemptyset(&all);
    CHECK(0, pthread_sigmask(SIG_SETMASK, &all, NULL));
    CHECK(3, runs);
    CHECK(1, (order[0] == 12 && order[1] == 13 && order[2] == 21) || order[0] == 21);
    CHECK(0, is_pending(SIGRTMIN) + is_pending(SIGRTMIN + 1));
}

static void waiting(void)
{
    sigset_t set = only(SIGUSR1), all;
    struct timespec none = { 0, 0 }, some = { 0, 3000000 }, bad = { 0, 1000000000 };
    siginfo_t info;
    int signal = 0;
    sigemptyset(&all);
    CHECK(0, pthread_sigmask(SIG_BLOCK, &set, NULL));
    CHECK(-EAGAIN, or_errno(sigtimedwait(&set, &info, &none)));
    CHECK(-EAGAIN, or_errno(sigtimedwait(&set, &info, &some)));
    CHECK(-EINVAL, or_errno(sigtimedwait(&set, &info, &bad)));
    CHECK(0, raise(SIGUSR1));
    CHECK(SIGUSR1, sigtimedwait(&set, &info, &none));
    CHECK(SIGUSR1, info.si_signo);
    CHECK(SI_USER, info.si_code);
    CHECK(1, info.si_pid == getpid());
    CHECK(0, kill(getpid(), SIGUSR1));
    CHECK(1, is_pending(SIGUSR1));
    CHECK(0, sigwait(&set, &signal));
    CHECK(SIGUSR1, signal);
    CHECK(0, is_pending(SIGUSR1));
    /* Signals of the thread are delivered before those of the process. */
    CHECK(0, sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 1 }));
    CHECK(0, pthread_sigqueue(pthread_self(), SIGUSR1, (union sigval){ .sival_int = 2 }));
    CHECK(SIGUSR1, sigwaitinfo(&set, &info));
    CHECK(2, info.si_value.sival_int);
    CHECK(SIGUSR1, sigwaitinfo(&set, &info));
    CHECK(1, info.si_value.sival_int);
    /* sigsuspend waits with a mask that admits the signal, and restores the old mask. */
    handle(SIGUSR1, note, 0, 0);
    CHECK(0, raise(SIGUSR1));
    CHECK(0, runs);
    CHECK(-EINTR, or_errno(sigsuspend(&all)));
    CHECK(1, runs);
    CHECK(1, is_masked(SIGUSR1));
    CHECK(0, pthread_sigmask(SIG_SETMASK, &all, NULL));
}

/* An interrupted sleep returns EINTR and the remaining time; in a search, the sleep may end before. */
static void slept(long answer, long left)
{
    if (answer == 0)
        return;
    CHECK(EINTR, answer);
    CHECK(1, left > 3000 && left <= 3600);
}

static void *interrupted(void *how)
{
    struct timespec hour = { 3600, 0 }, left = { 0, 0 };
    long answer;
    sem_post(&begun);
    switch ((int)(long)how) {
    case 0:
        answer = -or_errno(nanosleep(&hour, &left));
        slept(answer, left.tv_sec);
        break;
    case 1:
        answer = clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, &left);
        slept(answer, left.tv_sec);
        break;
    case 2:
        answer = sleep(3600);
        slept(answer ? EINTR : 0, answer);
        break;
    case 3:
        CHECK(-EINTR, or_errno(pause()));
        break;
    case 4:
        answer = or_errno(usleep(999999999));
        CHECK(1, answer == 0 || answer == -EINTR);
        break;
    }
    return how;
}

static void interruption(void)
{
    for (long how = 0; how < 5; how++) {
        /* An interrupted sleep is not restarted, even with SA_RESTART. */
        handle(SIGUSR1, note, how % 2 ? SA_RESTART : 0, 0);
        CHECK(0, pthread_create(&target, NULL, interrupted, (void *)how));
        CHECK(0, sem_wait(&begun));
        /* It may not have begun to sleep, and a search may let it sleep for long. */
        for (int i = 0; i < 3 || pthread_tryjoin_np(target, NULL) != 0; i++) {
            struct timespec some = { 0, 1000000 };
            CHECK(0, pthread_kill(target, SIGUSR1));
            nanosleep(&some, NULL);
        }
        CHECK(1, how != 3 || runs > 0);
    }
    /* A thread that has ended but was not joined: no error. */
    CHECK(0, pthread_create(&target, NULL, interrupted, (void *)9));
    CHECK(0, sem_wait(&begun));
    while (pthread_tryjoin_np(target, NULL) != 0)
        CHECK(0, pthread_kill(target, 0));
}

int main(void)
{
    sem_init(&begun, 0, 0);
    sem_init(&never, 0, 0);
    masks();
    inheritance();
    handlers();
    real_time();
    waiting();
    interruption();
    return conforms();
}
