// A task that polls until a time has come, which it finds in one of several places, and then fails.
// Arguments: the place; `set` if another task may end the loop earlier, else `never`; after how many
// microseconds.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int flag;
static struct timespec until;
static long until_ns;
static double until_s;
static unsigned until_second;
static __thread long own_until_ns;

static int locked_flag(void) {
    pthread_mutex_lock(&lock);
    int seen = flag;
    pthread_mutex_unlock(&lock);
    return seen;
}

static long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *set(void *mode) {
    if (!strcmp(mode, "set")) {
        pthread_mutex_lock(&lock);
        flag = 1;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count < 4) return 64;
    const char *place = arguments[1];
    long late = atol(arguments[3]) * 1000;
    pthread_t thread;
    pthread_create(&thread, NULL, set, arguments[2]);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += late;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    until_ns = own_until_ns = now_ns() + late;
    until_s = until_ns / 1e9;
    until_second = time(NULL) + (late + 999999999) / 1000000000;
    long *heap = malloc(sizeof *heap), local = until_ns;
    *heap = until_ns;
    volatile long on_stack = until_ns;
    unsigned local_second = until_second;
    int is_late = 0;
    while (!is_late && !locked_flag()) {
        struct timespec now;
        if (!strcmp(place, "timespec")) {
            clock_gettime(CLOCK_MONOTONIC, &now);
            is_late = now.tv_sec > until.tv_sec
                || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec);
        } else if (!strcmp(place, "static")) {
            is_late = now_ns() >= until_ns;
        } else if (!strcmp(place, "thread")) {
            is_late = now_ns() >= own_until_ns;
        } else if (!strcmp(place, "double")) {
            is_late = now_ns() / 1e9 >= until_s;
        } else if (!strcmp(place, "heap")) {
            is_late = now_ns() >= *heap;
        } else if (!strcmp(place, "register")) {
            is_late = now_ns() >= local;
        } else if (!strcmp(place, "stack")) {
            is_late = now_ns() >= on_stack;
        } else if (!strcmp(place, "second")) {
            is_late = time(NULL) >= until_second;
        } else if (!strcmp(place, "register second")) {
            is_late = (unsigned)time(NULL) >= local_second;
        } else {
            return 64;
        }
    }
    pthread_join(thread, NULL);
    if (is_late) abort();
    return 0;
}
