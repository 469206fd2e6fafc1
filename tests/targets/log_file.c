/* Two threads write to a file: restoring memory does not suffice to reset the program. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;

static void *write_lines(void *name)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&guard);
        fprintf(file, "%s %d\n", (const char *)name, i);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

int main(void)
{
    file = fopen("/dev/full", "w");
    if (!file)
        return 2;
    pthread_t one, two;
    pthread_create(&one, NULL, write_lines, "one");
    pthread_create(&two, NULL, write_lines, "two");
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    fclose(file);
    return 0;
}
