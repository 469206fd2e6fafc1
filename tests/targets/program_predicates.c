/* Concurrent predicates in the source (heddle.h). Arguments: what to do, and the number of threads. */
#include "heddle.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static heddle_cp_group group = HEDDLE_CP_GROUP;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threads, control, number;
static volatile int value = 1, arrived, satisfied, gave_up, inside, order[64], ordered;

static void disturb(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

/* Every thread waits at the predicate once. */
static void *count(void *arg)
{
    int me = (int)(long)arg;
    disturb();
    heddle_cp(&group, arrived++, arrived > 0, control, number, me, (order[ordered++] = me, satisfied++),
              gave_up++, (void)0);
    disturb();
    return NULL;
}

/* The division fails while the divisor is zero for a moment. */
static void *divide(void *arg)
{
    (void)arg;
    disturb();
    int by = 100;
    if (value != 0) {
        heddle_cp(&group, (void)0, value == 0, HEDDLE_NONE, 0, 0, heddle_assert(value == 0),
                  (void)0, (void)0);
        by /= value;
        arrived = by;
    }
    return NULL;
}

static void *reconfigure(void *arg)
{
    (void)arg;
    disturb();
    value = 0;
    value = 4;
    return NULL;
}

/* An increment in two steps; the predicate has both threads between them. */
static void *increment(void *arg)
{
    (void)arg;
    disturb();
    int before = value;
    heddle_cp(&group, (void)0, 1, HEDDLE_EXACTLY, 1, 0, (void)0, (void)0, (void)0);
    value = before + 1;
    return NULL;
}

/* A predicate that never holds. */
static void *never(void *arg)
{
    (void)arg;
    heddle_cp(&group, (void)0, value == 7, HEDDLE_ALL, 0, 0, satisfied++, gave_up++, (void)0);
    return NULL;
}

/* Serial code in which the thread waits for a lock. */
static void *serial(void *arg)
{
    (void)arg;
    heddle_cp_serial_id(&group, {
        inside++;
        heddle_assert(inside == 1);
        disturb();
        inside--;
    });
    heddle_cp_serial(disturb());
    return NULL;
}

static void *interfere(void *arg)
{
    (void)arg;
    heddle_cp_serial(disturb());
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "divide";
    void *(*first)(void *) = count, *(*second)(void *) = count, *(*rest)(void *) = count;
    threads = argc > 2 ? atoi(argv[2]) : 2;
    static const char *const ways[] = {"none", "fewer", "more", "exactly", "all"};
    for (int way = 0; way < 5; way++)
        if (!strncmp(what, ways[way], strlen(ways[way])))
            control = way;
    char *dash = strchr(what, '-');
    number = dash ? atoi(dash + 1) : 0;
    if (!strcmp(what, "divide"))
        first = divide, second = reconfigure, rest = interfere;
    else if (!strcmp(what, "increment"))
        first = second = increment, rest = interfere;
    else if (!strcmp(what, "never"))
        first = second = rest = never;
    else if (!strcmp(what, "serial"))
        first = second = rest = serial;
    pthread_t all[64];
    for (long i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, i == 0 ? first : i == 1 ? second : rest, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    if (!strcmp(what, "increment"))
        heddle_assert(value == 3);
    /* The number of threads that were satisfied, and of those that were not. */
    if (argc > 3) {
        heddle_assert(satisfied == atoi(argv[3]));
        heddle_assert(gave_up == atoi(argv[4]));
    }
    /* Of threads that are satisfied together, one with a higher priority goes first. */
    if (!strncmp(what, "all", 3))
        for (int i = 1; i < ordered; i++)
            heddle_assert(order[i - 1] > order[i]);
    printf("%d satisfied, %d not\n", satisfied, gave_up);
    return 0;
}
