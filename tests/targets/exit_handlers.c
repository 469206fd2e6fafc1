/* exit() in a thread: handlers run on that thread, last registered first, may lock, and may call
   other functions; then buffered output is written, including an unfinished line. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_t exiting;
static sem_t never;

static void first(void)
{
    fputs("first registered, then the line's end is missing", stdout);
}

static void second(int status, void *argument)
{
    printf("on_exit with %d and %s\n", status, (char *)argument);
}

static void nested(void)
{
    puts("registered while handlers run");
}

static void third(void)
{
    assert(pthread_equal(pthread_self(), exiting));
    pthread_mutex_lock(&guard);
    puts("last registered, under a lock");
    pthread_mutex_unlock(&guard);
    atexit(nested);
}

static void *leave(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    exiting = pthread_self();
    pthread_mutex_unlock(&guard);
    exit(0);
}

__attribute__((destructor)) static void destructor(void)
{
    fputs(" (destructor)", stdout);
}

int main(void)
{
    pthread_t thread;
    sem_init(&never, 0, 0);
    atexit(first);
    on_exit(second, "an argument");
    atexit(third);
    pthread_create(&thread, NULL, leave, NULL);
    sem_wait(&never);
    return 1;
}
