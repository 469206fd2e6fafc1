// The files of a thread below /proc have the name that the thread was given, and give it the one that is
// written to them.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static sem_t end;
static int id;
static sem_t known;
static void *worker(void *u) {
    id = gettid();
    sem_post(&known);
    sem_wait(&end);
    char own[16];
    prctl(PR_GET_NAME, own);
    assert(!strcmp(own, "third"));
    return u;
}
static const char *line_of(const char *format, int number, const char *start) {
    static char line[512];
    char path[64];
    snprintf(path, sizeof path, format, number);
    FILE *file = fopen(path, "re");
    assert(file);
    do
        assert(fgets(line, sizeof line, file));
    while (strncmp(line, start, strlen(start)));
    fclose(file);
    line[strcspn(line, "\n")] = 0;
    return line + strlen(start);
}
static int has(int file, const char *expected) {
    char text[32] = "";
    assert(lseek(file, 0, SEEK_SET) == 0);
    int len = read(file, text, sizeof text - 1);
    return len > 0 && text[len - 1] == '\n' && !strncmp(text, expected, len - 1) && !expected[len - 1];
}
int main(void) {
    pthread_t a;
    char name[16], path[64];
    sem_init(&end, 0, 0);
    sem_init(&known, 0, 0);
    pthread_setname_np(pthread_self(), "first");
    pthread_create(&a, 0, worker, 0);
    sem_wait(&known);
    assert(!strcmp(line_of("/proc/self/task/%d/comm", id, ""), "first"));
    pthread_setname_np(a, "second");
    assert(!strcmp(line_of("/proc/self/task/%d/comm", id, ""), "second"));
    assert(!strcmp(line_of("/proc/%d/comm", id, ""), "second"));
    assert(!strcmp(line_of("/proc/self/task/%d/status", id, "Name:\t"), "second"));
    assert(strstr(line_of("/proc/self/task/%d/stat", id, ""), "(second)"));
    assert(!strcmp(line_of("/proc/self/task/%d/comm", getpid(), ""), "first"));
    assert(!strcmp(line_of("/proc/self/comm", 0, ""), "first"));
    assert(!strcmp(line_of("/proc/thread-self/comm", 0, ""), "first"));

    snprintf(path, sizeof path, "/proc/self/task/%d/comm", id);
    int file = open(path, O_RDWR), other = dup(file);
    assert(has(file, "second"));
    assert(write(other, "third", 5) == 5);
    assert(has(file, "third") && has(other, "third"));
    assert(pthread_getname_np(a, name, sizeof name) == 0 && !strcmp(name, "third"));
    close(file);
    assert(has(other, "third"));
    int list = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof path, "%d/comm", id);
    file = openat(list, path, O_RDONLY);
    assert(has(file, "third"));
    assert(write(file, "x", 1) == -1 && errno == EBADF);
    int own = open("/proc/thread-self/comm", O_WRONLY);
    assert(write(own, "a name that is longer", 21) == 21);
    assert(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && !strcmp(name, "a name that is "));
    sem_post(&end);
    pthread_join(a, 0);
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", id);
    assert(open(path, O_RDONLY) == -1 && errno == ENOENT);
    assert(lseek(file, 0, SEEK_SET) == 0 && read(file, name, 1) == -1 && errno == ESRCH);
    return 0;
}
