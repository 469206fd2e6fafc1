// The segment is not attached for a moment.
#include "two_threads.h"

#include <sys/shm.h>

static volatile char *memory;
static char read_byte;
static int segment;

static void *a(void *unused) {
    read_byte = memory[0];
    return unused;
}

static void *b(void *unused) {
    shmdt((void *)memory);
    shmat(segment, (void *)memory, 0);
    return unused;
}

int main(void) {
    segment = shmget(IPC_PRIVATE, 4096, 0600);
    memory = shmat(segment, 0, 0);
    shmctl(segment, IPC_RMID, 0);
    go(a, b);
    return 0;
}
