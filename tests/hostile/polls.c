// A task that waits by polling. Arguments: the kind of loop, and what the other task does: `set` (it
// ends the wait), `never` (it does not), `fail` (it fails if it comes in the middle of an iteration).
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t ready, never_posted;
static int flag;
static _Atomic int visible_flag;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
// A lock that the program builds itself, and the flag under it.
static _Atomic int word;
static int word_flag;
static const char *kind, *mode;

static int is(const char *name) {
    return !strcmp(kind, name);
}

static struct timespec in_a_millisecond(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static int locked_flag(void) {
    pthread_mutex_lock(&lock);
    int seen = flag;
    pthread_mutex_unlock(&lock);
    return seen;
}

// Whether the attempt to lock was successful, and what was there.
static int seen_if(int error) {
    if (error) return 0;
    int seen = flag;
    pthread_mutex_unlock(&lock);
    return seen;
}

static int look(void) {
    struct timespec t;
    if (is("lock and clock")) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        return locked_flag();
    }
    if (is("lock, clock and usleep")) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        usleep(1000);
        return locked_flag();
    }
    if (is("clock and yield")) {
        clock_gettime(CLOCK_REALTIME, &t);
        sched_yield();
        return atomic_load(&visible_flag);
    }
    if (is("timedlock")) {
        t = in_a_millisecond(CLOCK_REALTIME);
        return seen_if(pthread_mutex_timedlock(&lock, &t));
    }
    if (is("clocklock")) {
        t = in_a_millisecond(CLOCK_MONOTONIC);
        return seen_if(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &t));
    }
    if (is("timedlock of a held mutex")) {
        t = in_a_millisecond(CLOCK_REALTIME);
        int got = !pthread_mutex_timedlock(&held, &t);
        if (got) pthread_mutex_unlock(&held);
        return got;
    }
    if (is("timedrdlock")) {
        t = in_a_millisecond(CLOCK_REALTIME);
        if (pthread_rwlock_timedrdlock(&rwlock, &t)) return 0;
        int seen = flag;
        pthread_rwlock_unlock(&rwlock);
        return seen;
    }
    if (is("cond_timedwait")) {
        pthread_mutex_lock(&lock);
        t = in_a_millisecond(CLOCK_REALTIME);
        if (!flag) pthread_cond_timedwait(&changed, &lock, &t);
        int seen = flag;
        pthread_mutex_unlock(&lock);
        return seen;
    }
    if (is("own lock") || is("own lock and usleep")) {
        while (atomic_exchange(&word, 1)) sched_yield();
        int seen = word_flag;
        atomic_store(&word, 0);
        if (is("own lock and usleep")) usleep(1000);
        return seen;
    }
    if (is("sem_timedwait")) {
        t = in_a_millisecond(CLOCK_REALTIME);
        return !sem_timedwait(&never_posted, &t);
    }
    exit(64);
}

static void *other(void *arg) {
    pthread_mutex_lock(&held);
    sem_post(&ready);
    if (!strcmp(mode, "never")) {
        if (is("timedlock of a held mutex")) pause();
        pthread_mutex_unlock(&held);
        return arg;
    }
    if (!strcmp(mode, "fail")) {
        if (is("own lock") || is("own lock and usleep")) {
            if (atomic_exchange(&word, 1)) abort();
            atomic_store(&word, 0);
        }
        if (pthread_mutex_trylock(&lock)) abort();
        pthread_mutex_unlock(&lock);
    }
    atomic_store(&visible_flag, 1);
    pthread_rwlock_wrlock(&rwlock);
    pthread_mutex_lock(&lock);
    flag = 1;
    pthread_mutex_unlock(&lock);
    pthread_rwlock_unlock(&rwlock);
    if (is("own lock") || is("own lock and usleep")) {
        while (atomic_exchange(&word, 1)) sched_yield();
        word_flag = 1;
        atomic_store(&word, 0);
    }
    sem_post(&never_posted);
    pthread_mutex_unlock(&held);
    return arg;
}

int main(int count, char **arguments) {
    if (count < 3) return 64;
    kind = arguments[1];
    mode = arguments[2];
    sem_init(&ready, 0, 0);
    sem_init(&never_posted, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    sem_wait(&ready);
    while (!look());
    pthread_join(thread, NULL);
    return 0;
}
