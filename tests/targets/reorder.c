/* Setters write a and then b without a lock; a checker wants to see both or none. args: setters,
   and anything more to create the checker first. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int a, b;

static void *set(void *unused)
{
    (void)unused;
    a = 1;
    b = -1;
    return NULL;
}

static void *check(void *unused)
{
    (void)unused;
    int seen_a = a, seen_b = b;
    assert((seen_a == 0 && seen_b == 0) || (seen_a == 1 && seen_b == -1));
    return NULL;
}

int main(int argc, char **argv)
{
    int setters = argc > 1 ? atoi(argv[1]) : 2;
    int checker_first = argc > 2;
    pthread_t thread[16], checker;
    if (checker_first)
        pthread_create(&checker, NULL, check, NULL);
    for (int i = 0; i < setters; i++)
        pthread_create(&thread[i], NULL, set, NULL);
    if (!checker_first)
        pthread_create(&checker, NULL, check, NULL);
    for (int i = 0; i < setters; i++)
        pthread_join(thread[i], NULL);
    pthread_join(checker, NULL);
    return 0;
}
