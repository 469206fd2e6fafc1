// A stack of indices without locks (Vyukov, 2010). A pop takes the cell's
// successor away while it works on it, to exclude others; but a task that has read
// the head before may continue after the cell was taken, written and returned, and
// then two tasks own one cell. It takes three threads and seven preemptions.

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CELLS = 3, THREADS = 3 };

static struct {
    atomic_int value;
    atomic_int next;
} cells[CELLS];

static atomic_int head;
static atomic_int count = CELLS;
static int rounds = 2;

static int pop(void) {
    while (atomic_load(&count) > 1) {
        int first = atomic_load(&head);
        int next = atomic_exchange(&cells[first].next, -1);
        if (next < 0)
            continue;
        int expected = first;
        if (atomic_compare_exchange_strong(&head, &expected, next)) {
            atomic_fetch_sub(&count, 1);
            return first;
        }
        atomic_exchange(&cells[first].next, next);
    }
    return -1;
}

static void push(int index) {
    int first = atomic_load(&head);
    do
        atomic_store(&cells[index].next, first);
    while (!atomic_compare_exchange_strong(&head, &first, index));
    atomic_fetch_add(&count, 1);
}

static void *worker(void *argument) {
    int own = (int)(long)argument;
    for (int round = 0; round < rounds; round++) {
        int index;
        while ((index = pop()) < 0)
            sched_yield();
        atomic_store(&cells[index].value, own);
        assert(atomic_load(&cells[index].value) == own);
        push(index);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1)
        rounds = atoi(argv[1]);
    for (int cell = 0; cell < CELLS; cell++)
        atomic_init(&cells[cell].next, cell + 1 < CELLS ? cell + 1 : -1);
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, worker, (void *)number);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    return 0;
}
