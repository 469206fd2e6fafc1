/* Conformance: the standard and the manual pages on cancellation and on signals between threads. */
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

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t never, begun;
static pthread_t other;
static char log_[256];

static void note(void *what)
{
    strcat(log_, what);
}

static void unlock(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void *wait_cond(void *unused)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock, &m);
    pthread_cleanup_push(note, "outer ");
    pthread_cleanup_push(note, "inner ");
    sem_post(&begun);
    for (;;)
        pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return unused;
}

static void *wait_sem(void *unused)
{
    pthread_cleanup_push(note, "sem ");
    sem_post(&begun);
    sem_wait(&never);
    pthread_cleanup_pop(0);
    return unused;
}

static void *wait_join(void *unused)
{
    pthread_cleanup_push(note, "join ");
    sem_post(&begun);
    pthread_join(*(pthread_t *)unused, NULL);
    pthread_cleanup_pop(0);
    return unused;
}

static void *wait_sleep(void *unused)
{
    pthread_cleanup_push(note, "sleep ");
    sem_post(&begun);
    for (;;)
        sleep(1000);
    pthread_cleanup_pop(0);
    return unused;
}

static void *wait_pause(void *unused)
{
    pthread_cleanup_push(note, "pause ");
    sem_post(&begun);
    pause();
    pthread_cleanup_pop(0);
    return unused;
}

static void *wait_read(void *pipe)
{
    char byte;
    pthread_cleanup_push(note, "read ");
    sem_post(&begun);
    read(*(int *)pipe, &byte, 1);
    pthread_cleanup_pop(0);
    return pipe;
}

static void *test(void *unused)
{
    sem_post(&begun);
    for (;;)
        pthread_testcancel();
    return unused;
}

/* While cancellation is disabled, a request stays pending; and locks and trylocks of mutexes are not cancellation points. */
static void *disabled(void *unused)
{
    int old = -1;
    CHECK(0, pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    CHECK(PTHREAD_CANCEL_ENABLE, old);
    CHECK(EINVAL, pthread_setcancelstate(77, &old));
    CHECK(EINVAL, pthread_setcanceltype(77, &old));
    sem_post(&begun);
    sem_wait(&never);
    pthread_testcancel();
    strcat(log_, "not yet ");
    CHECK(0, pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    CHECK(PTHREAD_CANCEL_DISABLE, old);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    strcat(log_, "nor here ");
    pthread_testcancel();
    strcat(log_, "too late");
    return unused;
}

static void *asynchronous(void *unused)
{
    int old = -1;
    CHECK(0, pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    CHECK(PTHREAD_CANCEL_DEFERRED, old);
    pthread_cleanup_push(note, "anywhere ");
    sem_post(&begun);
    pthread_mutex_lock(&m);
    pthread_cleanup_pop(0);
    return unused;
}

static void *in_cleanup(void *unused)
{
    pthread_cleanup_push(note, "done ");
    pthread_exit(unused);
    pthread_cleanup_pop(0);
    return unused;
}

static void cancel(void *(*work)(void *), void *argument, const char *said)
{
    void *result = NULL;
    log_[0] = 0;
    CHECK(0, pthread_create(&other, NULL, work, argument));
    sem_wait(&begun);
    CHECK(0, pthread_cancel(other));
    if (work == disabled)
        sem_post(&never);
    CHECK(0, pthread_join(other, &result));
    CHECK(1, result == PTHREAD_CANCELED);
    if (strcmp(log_, said) != 0) {
        printf("%s, not %s\n", log_, said);
        failures++;
    }
}

static void cancellation(void)
{
    static pthread_t self;
    int ends[2];
    self = pthread_self();
    cancel(wait_cond, NULL, "inner outer ");
    CHECK(0, pthread_mutex_trylock(&m));
    pthread_mutex_unlock(&m);
    cancel(wait_sem, NULL, "sem ");
    cancel(wait_join, &self, "join ");
    cancel(wait_sleep, NULL, "sleep ");
    cancel(wait_pause, NULL, "pause ");
    CHECK(0, pipe(ends));
    cancel(wait_read, &ends[0], "read ");
    close(ends[0]);
    close(ends[1]);
    cancel(test, NULL, "");
    cancel(disabled, NULL, "not yet nor here ");
    pthread_mutex_lock(&m);
    cancel(asynchronous, NULL, "anywhere ");
    pthread_mutex_unlock(&m);
    log_[0] = 0;
    CHECK(0, (long)run_in_thread(in_cleanup, NULL));
    CHECK(0, strcmp(log_, "done "));
}

static volatile int handled, by_whom, with;

static void handler(int signal)
{
    handled += signal;
    by_whom = pthread_equal(pthread_self(), other) != 0;
}

static void informed(int signal, siginfo_t *info, void *context)
{
    (void)context;
    handled += signal;
    with = info->si_value.sival_int;
}

static void install(int signal, void (*function)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = function;
    action.sa_flags = flags;
    CHECK(0, sigaction(signal, &action, NULL));
}

static void *interrupted(void *unused)
{
    sem_post(&begun);
    int got = sem_wait(&never);
    return (void *)(long)(got == 0 ? 0 : errno);
    (void)unused;
}

static void *masks(void *unused)
{
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(0, pthread_sigmask(SIG_BLOCK, &set, NULL));
    CHECK(EINVAL, pthread_sigmask(77, &set, NULL));
    CHECK(0, pthread_kill(pthread_self(), SIGUSR1));
    CHECK(0, handled);
    CHECK(0, sigpending(&pending));
    CHECK(1, sigismember(&pending, SIGUSR1));
    CHECK(0, pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    CHECK(SIGUSR1, handled);
    return unused;
}

static void *wait_for_signal(void *unused)
{
    sigset_t set;
    int signal = 0;
    (void)unused;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sem_post(&begun);
    CHECK(0, sigwait(&set, &signal));
    return (void *)(long)signal;
}

static void signals(void)
{
    union sigval value = { .sival_int = 42 };
    void *result;
    sigset_t set;
    CHECK(0, pthread_kill(pthread_self(), 0));
    CHECK(EINVAL, pthread_kill(pthread_self(), 77));
    install(SIGUSR1, handler, 0);
    other = pthread_self();
    CHECK(0, pthread_kill(pthread_self(), SIGUSR1));
    CHECK(SIGUSR1, handled);
    CHECK(0, raise(SIGUSR1));
    CHECK(2 * SIGUSR1, handled);
    /* A handler runs in the thread that the signal is sent to; a wait ends, or is restarted with SA_RESTART. */
    handled = 0;
    CHECK(0, pthread_create(&other, NULL, interrupted, NULL));
    sem_wait(&begun);
    CHECK(0, pthread_kill(other, SIGUSR1));
    /* The signal may have arrived before the wait. */
    CHECK(0, sem_post(&never));
    CHECK(0, pthread_join(other, &result));
    CHECK(1, (long)result == EINTR || (long)result == 0);
    sem_trywait(&never);
    CHECK(SIGUSR1, handled);
    CHECK(1, by_whom);
    install(SIGUSR1, handler, SA_RESTART);
    handled = 0;
    CHECK(0, pthread_create(&other, NULL, interrupted, NULL));
    sem_wait(&begun);
    CHECK(0, pthread_kill(other, SIGUSR1));
    CHECK(0, sem_post(&never));
    CHECK(0, pthread_join(other, &result));
    CHECK(0, (long)result);
    CHECK(SIGUSR1, handled);
    handled = 0;
    run_in_thread(masks, NULL);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = informed;
    action.sa_flags = SA_SIGINFO;
    CHECK(0, sigaction(SIGUSR1, &action, NULL));
    handled = 0;
    CHECK(0, pthread_sigqueue(pthread_self(), SIGUSR1, value));
    CHECK(SIGUSR1, handled);
    CHECK(42, with);
    /* All threads block the signal, so the thread that waits for it gets it. */
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK(0, pthread_sigmask(SIG_BLOCK, &set, NULL));
    CHECK(0, pthread_create(&other, NULL, wait_for_signal, NULL));
    sem_wait(&begun);
    CHECK(0, kill(getpid(), SIGUSR2));
    CHECK(0, pthread_join(other, &result));
    CHECK(SIGUSR2, (long)result);
    struct timespec nothing = { 0, 1000000 };
    CHECK(1, sigtimedwait(&set, NULL, &nothing) == -1 && errno == EAGAIN);
}

int main(void)
{
    sem_init(&never, 0, 0);
    sem_init(&begun, 0, 0);
    cancellation();
    signals();
    return conforms();
}
