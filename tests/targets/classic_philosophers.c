/* Dining philosophers. They begin when all sit (a barrier), eat after the bell
 * (a condition), each reads the menu (a read-write lock), which the cook writes,
 * and takes two forks (mutexes), the lower first. args: the mistake to plant. */
#include "classic.h"
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { SEATS = 3 };

static pthread_mutex_t *forks, guard = PTHREAD_MUTEX_INITIALIZER, napkin = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t menu;
static pthread_barrier_t seated;
static int served, dish, meals;

static void read_menu(void)
{
    pthread_rwlock_rdlock(&menu);
    if (mistake("read-recursion")) { /* twice, to be sure */
        pthread_rwlock_rdlock(&menu);
        pthread_rwlock_unlock(&menu);
    }
    assert(dish == 0 || dish == 1);
    pthread_rwlock_unlock(&menu);
}

static void await_bell(void)
{
    pthread_mutex_lock(&guard);
    while (!served)
        pthread_cond_wait(&bell, mistake("wait-mutex") ? &napkin : &guard);
    pthread_mutex_unlock(&guard);
}

static void eat(int seat)
{
    int left = seat, right = (seat + 1) % SEATS;
    int first = left < right ? left : right, second = left < right ? right : left;
    if (mistake("deadlock")) {
        first = left;
        second = right;
    }
    if (mistake("self-deadlock"))
        second = first;
    pthread_mutex_lock(&forks[first]);
    if (mistake("unlock-not-held"))
        pthread_mutex_trylock(&forks[second]); /* had or not */
    else
        pthread_mutex_lock(&forks[second]);
    pthread_mutex_lock(&guard);
    meals++;
    pthread_mutex_unlock(&guard);
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    if (mistake("used-destroyed")) /* cleared away before the neighbour has eaten */
        pthread_mutex_destroy(&forks[first]);
}

static void *philosopher(void *seat)
{
    pthread_barrier_wait(&seated);
    read_menu();
    await_bell();
    eat((int)(intptr_t)seat);
    if (mistake("lock-left-held") && seat == NULL)
        pthread_mutex_lock(&napkin);
    return NULL;
}

static void lay_table(void)
{
    prefer_writers(&menu);
    pthread_barrier_init(&seated, NULL, mistake("barrier-count") ? SEATS + 1 : SEATS);
    forks = malloc(SEATS * sizeof *forks);
    memset(forks, 0x5a, SEATS * sizeof *forks);
    for (int i = 0; i < SEATS - mistake("uninitialised"); i++)
        pthread_mutex_init(&forks[i], NULL);
}

int main(int argc, char **argv)
{
    pthread_t thread[SEATS];
    plant(argc, argv);
    lay_table();
    for (int i = 0; i < SEATS; i++)
        pthread_create(&thread[i], NULL, philosopher, (void *)(intptr_t)i);
    pthread_rwlock_wrlock(&menu);
    dish = 1;
    pthread_rwlock_unlock(&menu);
    pthread_mutex_lock(&guard);
    served = 1;
    pthread_cond_broadcast(&bell);
    pthread_mutex_unlock(&guard);
    for (int i = 0; i < SEATS && !mistake("object-in-use"); i++)
        pthread_join(thread[mistake("thread-misuse") ? 0 : i], NULL);
    for (int i = 0; i < SEATS && !mistake("used-destroyed"); i++)
        pthread_mutex_destroy(&forks[i]);
    return meals == SEATS || mistake("object-in-use") ? 0 : 1;
}
