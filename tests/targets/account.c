/* A deposit, a withdrawal, and a check of the balance that is made only when both
 * are done, with a wrong formula. main does not wait, so that most often the
 * process ends before the check. With -DFIXED the formula is right and main waits. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { START = 1, IN = 2, OUT = 4 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int balance = START;
static bool deposited, withdrawn;

static void *deposit(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    balance += IN;
    deposited = true;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *withdraw(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    balance -= OUT;
    withdrawn = true;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *check(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    if (deposited && withdrawn) {
#ifdef FIXED
        assert(balance == START + IN - OUT);
#else
        assert(balance == START - IN - OUT);
#endif
    }
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t thread[3];
    pthread_create(&thread[0], NULL, deposit, NULL);
    pthread_create(&thread[1], NULL, withdraw, NULL);
    pthread_create(&thread[2], NULL, check, NULL);
#ifdef FIXED
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
#endif
    return 0;
}
