// Main tries to lock the file while the thread has the lock.
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
    assert(!flock(lock, LOCK_UN));
    return u;
}
int main(void) {
    pthread_t a;
    int lock = own();
    pthread_create(&a, 0, holder, 0);
    assert(!flock(lock, LOCK_EX | LOCK_NB));
    assert(!flock(lock, LOCK_UN));
    pthread_join(a, 0);
    return 0;
}
