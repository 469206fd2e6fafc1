// What main does before it creates the first thread is the same in every execution. An execution that
// begins after it must find all of it: memory, the position in the output, time, locale, handlers.
// ROUNDS: how often the table is filled, with 20,000 accesses each time. -DOPEN: a file is open when
// the first thread is created.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fenv.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LENGTH = 10000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread int local;
static volatile int counter, handled, initialised;
static unsigned *table;
static int expected_random;

static void initialise(void) { initialised++; }

static void handle(int signal) { handled += signal == SIGUSR1; }

static void *add(void *argument)
{
    int before = counter;
    assert(table[LENGTH - 1] & 1);
    assert(initialised == 1 && handled == 1 && local == 0);
    assert(pthread_getspecific(key) == NULL);
    pthread_once(&once, initialise);
    counter = before + 1;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    unsigned value = 1;
    table = malloc(LENGTH * sizeof *table);
    for (int round = 0; round < rounds; round++) {
        for (int at = 0; at < LENGTH; at++) {
            value = value * 1664525 + (round ? table[at] : 0);
            table[at] = value | 1;
        }
    }
    printf("buffered, ");
    local = 7;
    srand(5);
    expected_random = rand();
    pthread_once(&once, initialise);
    pthread_key_create(&key, free);
    pthread_setspecific(key, strdup("value"));
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    setenv("COMMON_PREFIX", "set", 1);
    fesetround(FE_UPWARD);
    sleep(2);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pthread_mutex_lock(&lock);
    fflush(stdout);
#ifdef OPEN
    int file = open("/dev/null", O_RDONLY);
#endif
    errno = ERANGE;

    pthread_t threads[2];
    for (int at = 0; at < 2; at++)
        pthread_create(&threads[at], NULL, add, NULL);
    assert(errno == ERANGE && fegetround() == FE_UPWARD && local == 7);
    pthread_mutex_unlock(&lock);
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);

#ifdef OPEN
    close(file);
#endif
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert(end.tv_sec - start.tv_sec < 2);
    assert(strcmp(getenv("COMMON_PREFIX"), "set") == 0);
    assert(strcmp(pthread_getspecific(key), "value") == 0);
    srand(5);
    assert(rand() == expected_random);
    printf("and printed\n");
    return counter == 2 ? 0 : 3;
}
