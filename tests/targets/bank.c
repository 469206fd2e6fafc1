/* A balance with a getter and a setter, each of which locks; calling both one after the other is not atomic. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static int get(void)
{
    pthread_mutex_lock(&guard);
    int value = balance;
    pthread_mutex_unlock(&guard);
    return value;
}

static void set(int value)
{
    pthread_mutex_lock(&guard);
    balance = value;
    pthread_mutex_unlock(&guard);
}

static void *deposit(void *unused)
{
    (void)unused;
    set(get() + 50);
    return NULL;
}

static void *withdraw(void *unused)
{
    (void)unused;
    set(get() - 30);
    return NULL;
}

int main(void)
{
    pthread_t in, out;
    pthread_create(&in, NULL, deposit, NULL);
    pthread_create(&out, NULL, withdraw, NULL);
    pthread_join(in, NULL);
    pthread_join(out, NULL);
    assert(balance == 120);
    return 0;
}
