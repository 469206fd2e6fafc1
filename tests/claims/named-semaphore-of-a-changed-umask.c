#include "two_threads.h"
#include <semaphore.h>

static void *open_twice(void *unused) {
    sem_t *made = sem_open("/heddle-claim-umask", O_CREAT | O_EXCL, 0600, 1);
    assert(made != SEM_FAILED);
    sem_t *opened = sem_open("/heddle-claim-umask", 0);
    sem_unlink("/heddle-claim-umask");
    assert(opened != SEM_FAILED);
    return unused;
}

static void *deny_all(void *unused) {
    umask(0700);
    return unused;
}

int main(void) {
    // A privileged user may open it whatever its mode is.
    if (geteuid() == 0) assert(seteuid(65534) == 0);
    umask(022);
    go(open_twice, deny_all);
}
