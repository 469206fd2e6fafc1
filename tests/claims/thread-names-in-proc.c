// The file with the name of a thread has the one that the thread was given.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static sem_t end;
static int id;
static sem_t known;
static void *worker(void *u) {
    id = gettid();
    sem_post(&known);
    sem_wait(&end);
    return u;
}
static const char *name_in(const char *format, int number) {
    static char line[32];
    char path[64];
    snprintf(path, sizeof path, format, number);
    FILE *file = fopen(path, "re");
    assert(file && fgets(line, sizeof line, file));
    fclose(file);
    line[strcspn(line, "\n")] = 0;
    return line;
}
int main(void) {
    pthread_t a;
    sem_init(&end, 0, 0);
    sem_init(&known, 0, 0);
    pthread_setname_np(pthread_self(), "first");
    pthread_create(&a, 0, worker, 0);
    sem_wait(&known);
    assert(!strcmp(name_in("/proc/self/task/%d/comm", id), "first"));
    pthread_setname_np(a, "second");
    assert(!strcmp(name_in("/proc/self/task/%d/comm", id), "second"));
    assert(!strcmp(name_in("/proc/self/task/%d/comm", getpid()), "first"));
    assert(!strcmp(name_in("/proc/self/comm", 0), "first"));
    assert(!strcmp(name_in("/proc/thread-self/comm", 0), "first"));
    sem_post(&end);
    pthread_join(a, 0);
    return 0;
}
