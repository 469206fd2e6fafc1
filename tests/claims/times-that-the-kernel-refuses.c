// Times for mutexes with priority inheritance, robust ones and message queues get the answers of the kernel; so
// do sleeps by processor time and without a time.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define FAILS(error, call) assert((call) == -1 && errno == (error))
/* MAKE_THREAD_CPUCLOCK and MAKE_PROCESS_CPUCLOCK of Linux, of scheduled time. */
#define OF_THREAD(id) ((clockid_t)(~(unsigned)(id) << 3 | 6))
#define OF_PROCESS(id) ((clockid_t)(~(unsigned)(id) << 3 | 2))
static pthread_mutex_t inherits, robust;
static const struct timespec before = { -1, 0 }, least = { LONG_MIN, 0 }, wrong = { -1, -1 }, zero;
static void *waiter(void *u) {
    assert(pthread_mutex_timedlock(&inherits, &before) == EINVAL);
    assert(pthread_mutex_timedlock(&inherits, &wrong) == EINVAL);
    assert(pthread_mutex_timedlock(&inherits, &zero) == ETIMEDOUT);
    assert(pthread_mutex_timedlock(&robust, &before) == ETIMEDOUT);
    assert(pthread_mutex_timedlock(&robust, &least) == ETIMEDOUT);
    assert(pthread_mutex_timedlock(&robust, &wrong) == EINVAL);
    assert(pthread_mutex_timedlock(&robust, &zero) == ETIMEDOUT);
    return u;
}
int main(void) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inherits, &a);
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &a);
    pthread_mutex_lock(&inherits);
    pthread_mutex_lock(&robust);
    pthread_t thread;
    pthread_create(&thread, 0, waiter, 0);
    pthread_join(thread, 0);
    pthread_mutex_unlock(&robust);
    pthread_mutex_unlock(&inherits);
    struct mq_attr one = { .mq_maxmsg = 1, .mq_msgsize = 8 };
    mqd_t queue = mq_open("/heddle-times", O_CREAT | O_RDWR, 0600, &one);
    mq_unlink("/heddle-times");
    char message[8] = "";
    FAILS(EINVAL, mq_timedreceive(queue, message, 8, 0, &before));
    FAILS(ETIMEDOUT, mq_timedreceive(queue, message, 8, 0, &zero));
    assert(mq_timedsend(queue, message, 8, 0, &zero) == 0);
    FAILS(EINVAL, mq_timedsend(queue, message, 8, 0, &before));
    FAILS(ETIMEDOUT, mq_timedsend(queue, message, 8, 0, &zero));
    struct timespec now;
    assert(clock_gettime(OF_THREAD(0), &now) == 0);
    assert(clock_gettime(OF_THREAD(gettid()), &now) == 0);
    assert(clock_gettime(OF_PROCESS(getpid()), &now) == 0);
    FAILS(EINVAL, clock_gettime(OF_THREAD(getppid()), &now));
    assert(clock_nanosleep(OF_THREAD(0), 0, &zero, 0) == EINVAL);
    assert(clock_nanosleep(OF_THREAD(gettid()), 0, &zero, 0) == EINVAL);
    assert(clock_nanosleep(OF_THREAD(getppid()), 0, &zero, 0) == EINVAL);
    FAILS(EFAULT, syscall(SYS_nanosleep, 0, 0));
    return 0;
}
