// The parity of a decrement shows which thread came first, although the counter stays positive.
#include <pthread.h>
#include <stdlib.h>

static long references = 5;
static int parity[2];

static void *drops(void *number)
{
    unsigned char even;
    __asm__ volatile("lock decq %0\n\tsetp %1" : "+m"(references), "=q"(even) : : "memory", "cc");
    parity[(long)number] = even;
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, drops, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    // 4 has one bit, 3 has two.
    if (parity[0])
        abort();
    return 0;
}
