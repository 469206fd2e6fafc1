/* Fails in some schedules, and reads the environment: one variable by its name; with -DWHOLE all of it by
 * `environ`; with -DTHIRD one more by main's third argument, whose name is not a constant. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, more = PTHREAD_MUTEX_INITIALIZER;
static int order;

static void *work(void *number)
{
    pthread_mutex_lock(&lock);
    order = order * 2 + (int)(long)number;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv, char **variables)
{
    int found = 0;
    (void)argc, (void)argv, (void)variables;
#ifdef WHOLE
    extern char **environ;
    for (char **entry = environ; *entry; entry++)
        found += (*entry)[0] == 'H';
#endif
#ifdef THIRD
    volatile char shift = 1;
    char name[] = "G@QLKDRR=";
    for (int i = 0; i < 8; i++)
        name[i] += shift;
    for (; *variables; variables++)
        found += strncmp(*variables, name, 9) == 0 && strcmp(*variables + 9, "harmless-value") == 0;
#endif
    if (found) {
        pthread_mutex_lock(&more);
        pthread_mutex_unlock(&more);
    }
    const char *value = getenv("READ_BY_NAME");
    assert(!value || strcmp(value, "kept") == 0);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(order != 2);
    return 0;
}
