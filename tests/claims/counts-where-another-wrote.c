// A thread writes to a variable on main's stack. Later, main counts in a variable at the same place, and looks
// at a flag after each of twelve yields: it fails if it has counted to its end before the flag is set.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int flag;
static int *shared;

static void *sets(void *argument) {
    atomic_store(&flag, 1);
    return argument;
}

static void *writes(void *argument) {
    *shared = 12;
    return argument;
}

__attribute__((noinline)) static void result(void) {
    volatile int place = 0;
    pthread_t thread;
    shared = (int *)&place;
    pthread_create(&thread, 0, writes, 0);
    for (int i = 0; i < 3; i++) sched_yield();
    pthread_join(thread, 0);
    assert(place == 12);
}

__attribute__((noinline)) static void count(void) {
    volatile int place = 0;
    pthread_t thread;
    pthread_create(&thread, 0, sets, 0);
    while (!atomic_load(&flag)) {
        sched_yield();
        place++;
        assert(place < 12);
    }
    pthread_join(thread, 0);
}

int main(void) {
    result();
    count();
    return 0;
}
