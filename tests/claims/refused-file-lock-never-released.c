// Main tries to lock the file again and again, and the thread keeps the lock.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>
static int own(void) { return open("lock", O_RDWR | O_CREAT, 0600); }
static void *holder(void *u) {
    int lock = own();
    assert(!flock(lock, LOCK_EX));
    return u;
}
int main(void) {
    pthread_t a;
    int lock = own();
    pthread_create(&a, 0, holder, 0);
    while (flock(lock, LOCK_EX | LOCK_NB))
        usleep(1000);
    assert(!flock(lock, LOCK_UN));
    pthread_join(a, 0);
    return 0;
}
