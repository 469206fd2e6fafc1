/* Conformance of timers: each expires as specified, and never after it was stopped. */
#define _GNU_SOURCE
#include "conform.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static sem_t fired;
static volatile sig_atomic_t signals, value;

static void count(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    signals++;
    value = info->si_value.sival_int;
}

static void call(union sigval with)
{
    value = with.sival_int;
    sem_post(&fired);
}

static timer_t timer_that(int notify, int signal, int with)
{
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = notify;
    event.sigev_signo = signal;
    event.sigev_value.sival_int = with;
    if (notify == SIGEV_THREAD)
        event.sigev_notify_function = call;
    CHECK(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
    return timer;
}

static struct itimerspec after_ms(long ms)
{
    struct itimerspec when = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
    return when;
}

/* The signal is masked except while the thread waits for it. */
static void await_signal(int wanted)
{
    sigset_t none;
    sigemptyset(&none);
    while (signals < wanted)
        sigsuspend(&none);
}

static void by_signal(void)
{
    struct itimerspec when = after_ms(2), now;
    timer_t timer = timer_that(SIGEV_SIGNAL, SIGUSR1, 7);
    CHECK(0, timer_gettime(timer, &now));
    CHECK(0, now.it_value.tv_sec + now.it_value.tv_nsec);
    signals = 0;
    CHECK(0, timer_settime(timer, 0, &when, NULL));
    await_signal(1);
    CHECK(7, value);
    CHECK(0, timer_gettime(timer, &now));
    CHECK(0, now.it_value.tv_sec + now.it_value.tv_nsec);
    CHECK(0, timer_getoverrun(timer));
    when.it_value = in_ms(CLOCK_MONOTONIC, 2);
    CHECK(0, timer_settime(timer, TIMER_ABSTIME, &when, NULL));
    await_signal(2);
    CHECK(0, timer_delete(timer));
}

/* Even a long timer may have expired before it was stopped, because the thread may have been delayed. */
static void drain(void)
{
    sigset_t both, pending;
    struct timespec at_once = {0, 0};
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGALRM);
    sigpending(&pending);
    while (sigismember(&pending, SIGUSR1) || sigismember(&pending, SIGALRM)) {
        sigtimedwait(&both, NULL, &at_once);
        sigpending(&pending);
    }
}

static void again(void)
{
    struct itimerspec when = after_ms(1), stop = after_ms(0), was;
    when.it_interval = when.it_value;
    timer_t timer = timer_that(SIGEV_SIGNAL, SIGUSR1, 0);
    signals = 0;
    CHECK(0, timer_settime(timer, 0, &when, NULL));
    await_signal(2);
    CHECK(0, timer_settime(timer, 0, &stop, &was));
    CHECK(1000000, was.it_interval.tv_nsec);
    CHECK(0, timer_delete(timer));
    drain();
}

static void by_call(void)
{
    struct itimerspec when = after_ms(1);
    timer_t timer = timer_that(SIGEV_THREAD, 0, 9);
    CHECK(0, timer_settime(timer, 0, &when, NULL));
    CHECK(0, sem_wait(&fired));
    CHECK(9, value);
    CHECK(0, timer_delete(timer));
}

static void stopped(void)
{
    struct itimerspec when = after_ms(1000000), stop = after_ms(0), was;
    timer_t timer = timer_that(SIGEV_NONE, 0, 0);
    CHECK(0, timer_settime(timer, 0, &when, NULL));
    CHECK(0, timer_settime(timer, 0, &stop, &was));
    CHECK(0, timer_delete(timer));
    CHECK(0, alarm(1000));
    unsigned left = alarm(0);
    CHECK(1, left == 1000 || left == 0);
    CHECK(0, alarm(0));
    drain();
}

static void own(void)
{
    struct itimerval when = {{0, 0}, {0, 1000}}, now;
    signals = 0;
    CHECK(0, setitimer(ITIMER_REAL, &when, NULL));
    await_signal(1);
    CHECK(0, getitimer(ITIMER_REAL, &now));
    CHECK(0, now.it_value.tv_sec + now.it_value.tv_usec);
    CHECK(0, ualarm(1000, 0));
    await_signal(2);
}

static void refused(void)
{
    timer_t timer;
    struct itimerspec when = after_ms(1);
    struct itimerval bad = {{0, 0}, {0, 1000000}};
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = 999;
    CHECK(-1, timer_create(CLOCK_MONOTONIC, &event, &timer));
    CHECK(EINVAL, errno);
    CHECK(-1, timer_create(1234, NULL, &timer));
    CHECK(EINVAL, errno);
    timer = timer_that(SIGEV_NONE, 0, 0);
    when.it_value.tv_nsec = 1000000000;
    CHECK(-1, timer_settime(timer, 0, &when, NULL));
    CHECK(EINVAL, errno);
    CHECK(0, timer_delete(timer));
    CHECK(-1, setitimer(ITIMER_REAL, &bad, NULL));
    CHECK(EINVAL, errno);
}

int main(void)
{
    struct sigaction action;
    sigset_t both;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = count;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    sem_init(&fired, 0, 0);
    by_signal();
    again();
    by_call();
    stopped();
    own();
    refused();
    return conforms();
}
