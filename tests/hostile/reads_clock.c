/* Threads that wait for a time by reading a clock, without and with yields, beside threads that wait for a flag in
   loops without a step. The argument says how. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int flag;
static const char *way;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void wait_for(double seconds, int yields)
{
    double end = now() + seconds;
    while (now() < end)
        if (yields)
            sched_yield();
}

static void *wait_for_flag(void *unused)
{
    while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
        if (sched_getcpu() < 0)
            abort();
    return unused;
}

/* A library's code reads the clock by a system call. */
static void *wait_by_calls(void *unused)
{
    struct timespec first, time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &first);
    do
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    while (time.tv_sec < first.tv_sec + 2);
    return unused;
}

static void *wait_for_seconds(void *unused)
{
    time_t start = time(NULL);
    while (time(NULL) - start < 2)
        ;
    return unused;
}

static void *late_alarm(void *unused)
{
    sleep(40);
    if (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
        abort();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[4];
    int number = 0;
    if (count < 2)
        return 64;
    way = arguments[1];
    if (!strcmp(way, "flag")) {
        pthread_create(&threads[number++], NULL, wait_for_flag, NULL);
        pthread_create(&threads[number++], NULL, wait_for_flag, NULL);
        pthread_create(&threads[number++], NULL, wait_for_seconds, NULL);
        wait_for(1, 1);
        wait_for(1, 0);
    } else if (!strcmp(way, "seconds")) {
        pthread_create(&threads[number++], NULL, late_alarm, NULL);
        wait_for(20, 0);
    } else if (!strcmp(way, "calls")) {
        pthread_create(&threads[number++], NULL, wait_by_calls, NULL);
        wait_by_calls(NULL);
    }
    __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    while (number > 0)
        pthread_join(threads[--number], NULL);
    return 0;
}
