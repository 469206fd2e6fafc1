// A priority that the policy does not have is refused when the thread is created.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static void *nothing(void *u) { return u; }
int main(void) {
    pthread_attr_t attributes;
    struct sched_param param = { .sched_priority = 1 };
    pthread_t a;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &param);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    assert(pthread_create(&a, &attributes, nothing, 0) == EINVAL);
    pthread_create(&a, 0, nothing, 0);
    pthread_join(a, 0);
    return 0;
}
