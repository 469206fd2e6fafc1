/* Two threads print into one buffer at the same time: the text may have parts of both. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char text[16];

static void *print(void *number)
{
    snprintf(text, sizeof text, "%d and %d", *(int *)number, *(int *)number);
    return NULL;
}

int main(void)
{
    int one = 1, two = 2;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, print, &one);
    pthread_create(&threads[1], NULL, print, &two);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(!strcmp(text, "1 and 1") || !strcmp(text, "2 and 2"));
    return 0;
}
