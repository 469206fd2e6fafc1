// A thread makes many accesses, and then waits in a loop for what main writes after as many. It reads the flag
// of that loop before, too.

#include <assert.h>
#include <pthread.h>

enum { PLACES = 64, ROUNDS = 300000 };

static volatile int sums[2][PLACES];
static volatile int ready, seen;

static void compute(volatile int *sums) {
    for (int i = 0; i < ROUNDS; i++)
        sums[i % PLACES] += i;
}

static void await(int times) {
    for (int i = 0; i < times || (!times && !ready); i++)
        seen = ready;
}

static void *worker(void *unused) {
    await(1000);
    compute(sums[0]);
    await(0);
    assert(sums[1][0]);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    compute(sums[1]);
    ready = 1;
    pthread_join(thread, 0);
}
