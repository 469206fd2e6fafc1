// One thread sleeps for a tenth of a second and one for half a second: a thread that is delayed changes the order.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static int order;
static void *shorter(void *u) {
    usleep(100000);
    __atomic_store_n(&order, 1, __ATOMIC_SEQ_CST);
    return u;
}
static void *longer(void *u) {
    usleep(500000);
    assert(__atomic_load_n(&order, __ATOMIC_SEQ_CST) == 1);
    return u;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&b, 0, longer, 0);
    pthread_create(&a, 0, shorter, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
