// Each of two threads takes one of two events from a counter.
#include <assert.h>
#include <pthread.h>
#include <sys/eventfd.h>
static int counter;
static void *taker(void *u) {
    eventfd_t value;
    assert(!eventfd_read(counter, &value) && value == 1);
    return u;
}
int main(void) {
    pthread_t a, b;
    counter = eventfd(0, EFD_SEMAPHORE);
    pthread_create(&a, 0, taker, 0);
    pthread_create(&b, 0, taker, 0);
    eventfd_write(counter, 2);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
