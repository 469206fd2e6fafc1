// Threads over variables whose relation a search watches. The argument selects what the threads do.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct account { int balance; int held; };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct account accounts[2];
static volatile int total = 10;
static volatile int ready, value;
static struct account *volatile current;
static pthread_t threads[2];

// Two accounts whose sum is broken between the two statements, under a lock.
static void transfer(int from, int to) {
    pthread_mutex_lock(&m);
    accounts[from].balance -= 1;
    accounts[to].balance += 1; // second half
    pthread_mutex_unlock(&m);
}

static void *move(void *arg) {
    int me = arg != NULL;
    transfer(me, !me);
    return NULL;
}

// The check and the update are not atomic, so that the total becomes negative.
static void *withdraw(void *arg) {
    (void)arg;
    if (total >= 6) {
        total -= 6; // withdraw
    }
    return NULL;
}

// The value is announced before it is there.
static void *announce(void *arg) {
    (void)arg;
    ready = 1;
    value = 7;
    return NULL;
}

static void *listen(void *arg) {
    (void)arg;
    int seen = ready;
    return seen ? (void *)&value : NULL;
}

// One writes what the condition reads, the other what ends the watching.
static void *spoil(void *arg) {
    (void)arg;
    value = 1;
    return NULL;
}

static void *finish(void *arg) {
    (void)arg;
    ready = 1;
    return NULL;
}

static void *replace(void *arg) {
    struct account *made = calloc(1, sizeof *made);
    made->balance = arg != NULL;
    current = made;
    return NULL;
}

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "move";
    void *(*first)(void *) = move, *(*second)(void *) = move;
    if (!strcmp(which, "withdraw")) {
        first = second = withdraw;
    } else if (!strcmp(which, "announce")) {
        first = announce, second = listen;
    } else if (!strcmp(which, "until")) {
        first = spoil, second = finish;
    } else if (!strcmp(which, "replace")) {
        first = second = replace;
    }
    accounts[0].balance = 5;
    accounts[1].balance = 5;
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, argv);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    if (!strcmp(which, "last")) {
        value = -1; // the last write of the program
    }
    return 0;
}
