/* Divides by a number that may temporarily be zero. */
#include <pthread.h>

static volatile int shares = 1, part;

static void *settle(void *unused)
{
    (void)unused;
    shares = 0;
    shares = 2;
    return NULL;
}

static void *divide(void *unused)
{
    (void)unused;
    part = 100 / shares;
    return NULL;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, settle, NULL);
    pthread_create(&two, NULL, divide, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
