/* Each schedule leads to other instructions, so that most executions of a search show a conflict
   that no execution before showed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { TURNS = 5 };

static atomic_uint order = 1;
static unsigned cells[64];

#define CELL(n)                                                                                    \
    case n:                                                                                        \
        cells[n] += task;                                                                          \
        break;
#define FOUR(n) CELL(n) CELL(n + 1) CELL(n + 2) CELL(n + 3)
#define SIXTEEN(n) FOUR(n) FOUR(n + 4) FOUR(n + 8) FOUR(n + 12)

static void *mix(void *argument) {
    unsigned task = (unsigned)(uintptr_t)argument;
    for (int turn = 0; turn < TURNS; turn++) {
        unsigned now = atomic_load(&order) * 31 + task;
        atomic_store(&order, now);
        switch (now * 2654435761u >> 26) { SIXTEEN(0) SIXTEEN(16) SIXTEEN(32) SIXTEEN(48) }
    }
    return 0;
}

int main(void) {
    pthread_t threads[3];
    for (uintptr_t task = 0; task < 3; task++)
        pthread_create(&threads[task], 0, mix, (void *)(task + 1));
    for (int task = 0; task < 3; task++)
        pthread_join(threads[task], 0);
    return 0;
}
