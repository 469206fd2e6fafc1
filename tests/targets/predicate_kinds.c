// The kinds of bug of "Concurrent Predicates" (Gottschlich, Pokam and Pereira, 2013), each only as a
// state in which it would happen: no run fails. Arguments: the kind, the number of threads, and by
// what to multiply the operations that do not matter.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t noise = PTHREAD_MUTEX_INITIALIZER;
static int noises, factor = 1;

static void disturb(int times) {
    for (int i = 0; i < times * factor; i++) {
        pthread_mutex_lock(&noise);
        noises++;
        pthread_mutex_unlock(&noise);
    }
}

static void *interfere(void *arg) {
    (void)arg;
    disturb(3);
    return NULL;
}

// A division by a number that another thread sets to zero for a moment.
static volatile int divisor = 1;
static volatile int quotient;

static void *divide(void *arg) {
    (void)arg;
    disturb(2);
    if (divisor != 0) {
        int by = divisor;
        quotient = by ? 100 / by : 0; // divide
    }
    return NULL;
}

static void *reconfigure(void *arg) {
    (void)arg;
    disturb(2);
    divisor = 0;
    divisor = 4;
    return NULL;
}

// Order: the table is used after the flag was set and before the table is there.
static volatile int ready;
static int *volatile table;

static void *publish(void *arg) {
    int *made = arg;
    disturb(1);
    ready = 1;
    table = made; // publish
    return NULL;
}

static void *consume(void *arg) {
    (void)arg;
    disturb(1);
    if (ready) {
        int *seen = table; // consume
        quotient = seen ? seen[0] : 0;
    }
    return NULL;
}

// A pointer and the flag that says which kind of object it points to are swapped one after the other.
struct shape { int kind; int sides; };
static struct shape circle = {1, 0}, square = {2, 4};
static struct shape *volatile current = &circle;
static volatile int kind = 1;

static void *swap(void *arg) {
    (void)arg;
    disturb(1);
    current = &square;
    kind = 2; // swap
    return NULL;
}

static void *draw(void *arg) {
    (void)arg;
    disturb(1);
    int seen = kind;
    struct shape *shape = current;
    quotient = seen == shape->kind; // draw
    return NULL;
}

// A buffer overflows when all threads are in the function at once.
static int count;

__attribute__((noinline)) static void arrive(int number) {
    pthread_mutex_lock(&noise);
    count += number; // arrive
    pthread_mutex_unlock(&noise);
}

static void *visit(void *arg) {
    disturb(1);
    arrive(arg != NULL);
    disturb(1);
    return NULL;
}

// Each thread withdraws because the other one wants the resource, too.
static volatile int wants[2];

static void *deny(void *arg) {
    int me = arg != NULL;
    disturb(1);
    wants[me] = 1;
    if (wants[!me]) {
        wants[me] = 0; // withdraw
    }
    wants[me] = 0;
    return NULL;
}

// Each thread takes two of three locks, in its own order.
static int made[64];
static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *take(void *arg) {
    int number = arg != NULL ? (int)((int *)arg - made) : 1;
    volatile int held = number % 3, wanted = (held + 1 + number % 2) % 3;
    disturb(1);
    pthread_mutex_lock(&locks[held]);
    if (pthread_mutex_trylock(&locks[wanted]) == 0) // second
        pthread_mutex_unlock(&locks[wanted]);
    pthread_mutex_unlock(&locks[held]);
    return NULL;
}

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "divide";
    int threads = argc > 2 ? atoi(argv[2]) : 2;
    factor = argc > 3 ? atoi(argv[3]) : 1;
    made[0] = 7;
    void *(*first)(void *) = divide, *(*second)(void *) = reconfigure, *(*rest)(void *) = interfere;
    if (!strcmp(which, "order")) {
        first = publish, second = consume;
    } else if (!strcmp(which, "swap")) {
        first = swap, second = draw;
    } else if (!strcmp(which, "arrive")) {
        first = second = rest = visit;
    } else if (!strcmp(which, "deny")) {
        first = second = deny;
    } else if (!strcmp(which, "locks")) {
        first = second = rest = take;
    }
    pthread_t all[64];
    for (int i = 0; i < threads; i++) {
        pthread_create(&all[i], NULL, i == 0 ? first : i == 1 ? second : rest, i == 1 ? NULL : &made[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i], NULL);
    }
    return 0;
}
