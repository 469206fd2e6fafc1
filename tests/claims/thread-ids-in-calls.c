// The id of a thread means that thread in every call.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *work(void *u) {
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t times[3]; } attr;
    pid_t id = gettid();
    assert(!syscall(SYS_sched_getattr, id, &attr, sizeof attr, 0) && attr.policy == 0);
    assert(!syscall(SYS_sched_setattr, id, &attr, 0));
    assert(!setpriority(PRIO_PROCESS, id, 19));
    assert(getpriority(PRIO_PROCESS, id) == 19 && getpriority(PRIO_PROCESS, 0) == 19);
    assert(syscall(SYS_ioprio_get, 1, id) >= 0);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/task/%d", id);
    assert(!access(name, F_OK));
    snprintf(name, sizeof name, "/proc/%d/task/%d/stat", getpid(), id);
    int file = open(name, O_RDONLY);
    assert(file >= 0 && read(file, name, sizeof name) > 0);
    close(file);
    return u;
}
int main(void) {
    pthread_t t;
    int before = getpriority(PRIO_PROCESS, 0);
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    assert(getpriority(PRIO_PROCESS, 0) == before);
    return 0;
}
