/* A stream is locked across a mutex: the other thread has to wait inside the C library. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int lines;

static void *work(void *unused)
{
    (void)unused;
    flockfile(stdout);
    fputs("a line ", stdout);
    pthread_mutex_lock(&guard);
    lines++;
    pthread_mutex_unlock(&guard);
    fputs("in one piece\n", stdout);
    funlockfile(stdout);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    printf("%d lines\n", lines);
    return 0;
}
