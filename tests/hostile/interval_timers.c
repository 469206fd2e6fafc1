// A timer that expires every 10 ms; the first argument says what a thread and the timer do meanwhile.
#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile sig_atomic_t ticks;
static sem_t posted;
static int shared, descriptor;

static void count(int number) {
    (void)number;
    ticks++;
}

static void post(int number) {
    (void)number;
    sem_post(&posted);
}

static void call(union sigval unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    shared++;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}

static void *locks(void *unused) {
    for (int turn = 0; turn < 2; turn++) {
        pthread_mutex_lock(&mutex);
        shared++;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void *takes(void *unused) {
    for (int turn = 0; turn < 3; turn++) {
        while (sem_wait(&posted)) {
        }
    }
    return unused;
}

static void *reads(void *unused) {
    uint64_t more;
    for (uint64_t sum = 0; sum < 5; sum += more) {
        assert(read(descriptor, &more, sizeof more) == sizeof more);
    }
    return unused;
}

static void *polls(void *unused) {
    struct pollfd one = {descriptor, POLLIN, 0};
    uint64_t more;
    for (uint64_t sum = 0; sum < 5; sum += more) {
        assert(poll(&one, 1, -1) == 1 && read(descriptor, &more, sizeof more) == sizeof more);
    }
    return unused;
}

static void *sleeps(void *unused) {
    for (int turn = 0; turn < 3; turn++) {
        usleep(10000);
    }
    return unused;
}

static void *yields(void *unused) {
    while (ticks < 3) {
        sched_yield();
    }
    return unused;
}

static void *naps(void *unused) {
    while (ticks < 3) {
        usleep(1000);
    }
    return unused;
}

static void *waits(void *unused) {
    pthread_mutex_lock(&mutex);
    while (shared < 3) {
        pthread_cond_wait(&condition, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *receives(void *unused) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    for (int turn = 0, number; turn < 3; turn++) {
        assert(sigwait(&alarms, &number) == 0);
    }
    return unused;
}

static const struct {
    const char *name;
    void *(*thread)(void *);
} CASES[] = {
    {"locks", locks}, {"takes", takes}, {"reads", reads}, {"polls", polls},       {"sleeps", sleeps},
    {"yields", yields}, {"naps", naps}, {"waits", waits}, {"receives", receives},
};

int main(int number, char **arguments) {
    const char *name = number > 1 ? arguments[1] : "locks";
    const struct itimerspec every = {{0, 10000000}, {0, 10000000}};
    const struct itimerval each = {{0, 10000}, {0, 10000}}, none = {{0, 0}, {0, 0}};
    pthread_t thread;
    timer_t timer;
    size_t at = 0;
    while (strcmp(CASES[at].name, name)) {
        at++;
    }
    int has_descriptor = !strcmp(name, "reads") || !strcmp(name, "polls");
    int has_calls = !strcmp(name, "waits");
    sem_init(&posted, 0, 0);
    signal(SIGALRM, strcmp(name, "takes") ? count : post);
    if (!strcmp(name, "receives")) {
        sigset_t alarms;
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    }
    if (has_descriptor) {
        descriptor = timerfd_create(CLOCK_MONOTONIC, 0);
        assert(timerfd_settime(descriptor, 0, &every, NULL) == 0);
    } else if (has_calls) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = call};
        assert(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
        assert(timer_settime(timer, 0, &every, NULL) == 0);
    } else {
        setitimer(ITIMER_REAL, &each, NULL);
    }
    pthread_create(&thread, NULL, CASES[at].thread, NULL);
    if (!strcmp(name, "locks")) {
        locks(NULL);
    }
    pthread_join(thread, NULL);
    if (has_descriptor) {
        close(descriptor);
    } else if (has_calls) {
        timer_delete(timer);
    } else {
        setitimer(ITIMER_REAL, &none, NULL);
    }
    return 0;
}
