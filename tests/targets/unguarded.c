/* Two threads count to three each, without synchronisation. */
#include <pthread.h>
#include <stddef.h>

static int counter;

static void *add(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++) {
        int seen = counter;
        counter = seen + 1;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return counter == 6 ? 0 : 3;
}
