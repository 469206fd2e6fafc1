// Threads that wait in loops that read more than one object. All of them are correct.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

#if defined(PETERSON) || defined(BAKERY)
static int entered;
#endif

#if defined(PETERSON)
// Peterson (1981): mutual exclusion of two.
static atomic_int wants[2], turn;

static void enter(int me) {
    atomic_store(&wants[me], 1);
    atomic_store(&turn, 1 - me);
    while (atomic_load(&wants[1 - me]) && atomic_load(&turn) == 1 - me)
        ;
    entered++;
    atomic_store(&wants[me], 0);
}

#elif defined(BAKERY)
// Lamport (1974): each thread takes a number and compares it with all others.
static atomic_int choosing[2], number[2];

static void enter(int me) {
    atomic_store(&choosing[me], 1);
    int highest = 0;
    for (int one = 0; one < 2; one++) {
        int its = atomic_load(&number[one]);
        highest = its > highest ? its : highest;
    }
    atomic_store(&number[me], highest + 1);
    atomic_store(&choosing[me], 0);
    for (int one = 0; one < 2; one++) {
        while (atomic_load(&choosing[one]))
            ;
        for (;;) {
            int its = atomic_load(&number[one]), mine = atomic_load(&number[me]);
            if (its == 0 || its > mine || (its == mine && one >= me))
                break;
        }
    }
    entered++;
    atomic_store(&number[me], 0);
}

#elif defined(QUEUE)
// A queue with one slot: each side waits for the other's index.
static atomic_uint put, taken;
static int place, sum;

static void *other(void *unused) {
    (void)unused;
    for (unsigned next = 0; next < 2; next++) {
        while (atomic_load(&put) - atomic_load(&taken) == 1)
            ;
        place = (int)next + 1;
        atomic_store(&put, next + 1);
    }
    return NULL;
}

static void here(void) {
    for (unsigned next = 0; next < 2; next++) {
        while (atomic_load(&taken) == atomic_load(&put))
            ;
        sum += place;
        atomic_store(&taken, next + 1);
    }
}

static void check(void) { assert(sum == 3); }

#elif defined(COUNTS)
// Counts its tests in private memory: no two iterations have the same state.
static atomic_int ready;
static int turns;

static void *other(void *unused) {
    (void)unused;
    atomic_store(&ready, 1);
    return NULL;
}

static void here(void) {
    while (!atomic_load(&ready))
        turns++;
}

static void check(void) { assert(turns >= 0); }

#elif defined(SEMAPHORE)
// Polls the value of a semaphore.
static sem_t ready;
static int done;

static void *other(void *unused) {
    (void)unused;
    done = 1;
    sem_post(&ready);
    return NULL;
}

static void here(void) {
    int value;
    do
        sem_getvalue(&ready, &value);
    while (value == 0);
}

static void check(void) { assert(done); }
#endif

#if defined(PETERSON) || defined(BAKERY)
static void *other(void *unused) {
    (void)unused;
    enter(1);
    return NULL;
}

static void here(void) { enter(0); }

static void check(void) { assert(entered == 2); }
#endif

int main(void) {
#if defined(SEMAPHORE)
    sem_init(&ready, 0, 0);
#endif
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    here();
    pthread_join(thread, NULL);
    check();
    return 0;
}
