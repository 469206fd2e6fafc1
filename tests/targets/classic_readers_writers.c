/* Readers and writers. Two readers, who begin together (a barrier) when a first edition is there (a condition), read
   under a read-write lock that prefers writers, and count themselves under a mutex; a writer brings out two editions
   of both halves of the text. args: the mistake to plant. */
#include "classic.h"
#include <assert.h>
#include <pthread.h>

enum { READERS = 2, EDITIONS = 2 };

static pthread_rwlock_t *text, desk = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER, mine[READERS];
static pthread_cond_t printed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t begin;
static int editions, half, other_half, readers;

static void await_edition(int number)
{
    pthread_mutex_t *mutex = mistake("wait-mutex") ? &mine[number] : &guard;
    pthread_mutex_lock(mutex);
    while (editions == 0)
        pthread_cond_wait(&printed, mutex);
    pthread_mutex_unlock(mutex);
}

static void *reader(void *argument)
{
    int number = argument != NULL;
    pthread_barrier_wait(&begin);
    await_edition(number);
    if (mistake("unlock-not-held") && number == 1)
        pthread_rwlock_tryrdlock(text); /* had or not */
    else
        pthread_rwlock_rdlock(text);
    if (mistake("read-recursion")) {
        pthread_rwlock_rdlock(text);
        pthread_rwlock_unlock(text);
    }
    if (!mistake("unlock-not-held"))
        assert(half == other_half);
    if (mistake("self-deadlock")) /* to correct a misprint */
        pthread_rwlock_wrlock(text);
    pthread_mutex_lock(&guard);
    readers++;
    pthread_mutex_unlock(&guard);
    pthread_rwlock_unlock(text);
    if (mistake("lock-left-held") && number == 0)
        pthread_rwlock_rdlock(&desk);
    return NULL;
}

static void print_edition(void)
{
    if (mistake("deadlock")) /* the readers take these two in reverse order */
        pthread_mutex_lock(&guard);
    pthread_rwlock_wrlock(text);
    half++;
    other_half++;
    pthread_rwlock_unlock(text);
    if (!mistake("deadlock"))
        pthread_mutex_lock(&guard);
    editions++;
    pthread_cond_broadcast(&printed);
    pthread_mutex_unlock(&guard);
}

static void *writer(void *unused)
{
    (void)unused;
    for (int i = 0; i < EDITIONS; i++)
        print_edition();
    if (mistake("used-destroyed")) /* though it is read from now on */
        pthread_rwlock_destroy(text);
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_rwlock_t storage;
    pthread_t thread[READERS + 1];
    plant(argc, argv);
    text = &storage;
    if (mistake("uninitialised"))
        memset(text, 0x5a, sizeof *text);
    else
        prefer_writers(text);
    for (int i = 0; i < READERS; i++)
        pthread_mutex_init(&mine[i], NULL);
    pthread_barrier_init(&begin, NULL, READERS + mistake("barrier-count"));
    if (mistake("deadlock"))
        editions = 1;
    pthread_create(&thread[0], NULL, reader, NULL);
    pthread_create(&thread[1], NULL, reader, "second");
    pthread_create(&thread[READERS], NULL, writer, NULL);
    if (mistake("thread-misuse"))
        pthread_detach(thread[READERS]);
    for (int i = mistake("object-in-use") ? READERS : 0; i <= READERS; i++)
        pthread_join(thread[i], NULL);
    pthread_rwlock_destroy(text);
    return readers == READERS || mistake("object-in-use") ? 0 : 1;
}
