// A write to an eventfd waits while the counter has no room for its value.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int e;
static void *reader(void *u) {
    uint64_t value;
    assert(read(e, &value, sizeof value) == sizeof value);
    return u;
}
int main(void) {
    e = eventfd(0, 0);
    pthread_t t;
    pthread_create(&t, 0, reader, 0);
    uint64_t value = UINT64_MAX - 2;
    assert(write(e, &value, sizeof value) == sizeof value);
    value = 5;
    assert(write(e, &value, sizeof value) == sizeof value);
    pthread_join(t, 0);
    return 0;
}
