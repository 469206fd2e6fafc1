/* Fails, with control characters, bytes that are no UTF-8 and characters that reorder text in all that
 * it names and prints. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define EVIL "\033]0;x\007\033[2J\r\302\205\302\233\377\342\200\256\177"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *work(void *nothing)
{
    pthread_setname_np(pthread_self(), "t\033[2J\302\233\177\342\200\256");
    pthread_mutex_lock(&lock);
    int seen = value;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    value = seen + 1;
    pthread_mutex_unlock(&lock);
    return nothing;
}

int main(void)
{
    pthread_t threads[2];
    const char *variable = getenv("EVIL");
    printf("%s %s\n", EVIL, variable ? variable : "");
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (value != 2)
        __assert_fail("value == 2 " EVIL, "f" EVIL ".c", 7, "main" EVIL);
    return 0;
}
