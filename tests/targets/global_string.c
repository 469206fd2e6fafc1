/* One thread allocates a string, the other fills it if it exists; main expects that it is absent or
   filled. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char *volatile text;

static void *allocate(void *unused)
{
    (void)unused;
    text = calloc(8, 1);
    return NULL;
}

static void *fill(void *unused)
{
    (void)unused;
    if (text)
        strcpy(text, "Bigshot");
    return NULL;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, allocate, NULL);
    pthread_create(&two, NULL, fill, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(!text || text[0] == 'B');
    return 0;
}
