/* Which functions are cancellation points (POSIX 2.9.5, pthreads(7)): a thread with a pending
 * cancellation calls each of them once, and ends there or returns. One line for each function. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t alone;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t empty, full, leave;
static pthread_t first;
static int null, ends[2], sockets[2], epoll;
static char byte[1];
static struct iovec vector = { byte, 1 };
static const struct timespec past = { 1, 0 }, none = { 0, 0 };
static sigset_t set;
static struct timeval at_once;
static struct flock lock = { .l_type = F_WRLCK };
static struct epoll_event event;
static struct msghdr message;

static void nothing(void)
{
}

static void unlock(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void locked(void (*wait)(void))
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock, &m);
    wait();
    pthread_cleanup_pop(1);
}

static void cond(void)
{
    pthread_cond_wait(&c, &m);
}

static void cond_timed(void)
{
    pthread_cond_timedwait(&c, &m, &past);
}

static void cond_clock(void)
{
    pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &past);
}

#define EACH_POINT(is)                                                      \
    is(pthread_testcancel())                                                \
    is(locked(cond))                                                        \
    is(locked(cond_timed))                                                  \
    is(locked(cond_clock))                                                  \
    is(pthread_join(first, NULL))                                           \
    is(pthread_timedjoin_np(first, NULL, &past))                            \
    is(pthread_clockjoin_np(first, NULL, CLOCK_MONOTONIC, &past))           \
    is(sem_wait(&empty))                                                    \
    is(sem_wait(&full))                                                     \
    is(sem_timedwait(&full, &past))                                         \
    is(sem_clockwait(&empty, CLOCK_MONOTONIC, &past))                        \
    is(sleep(0))                                                            \
    is(usleep(1))                                                           \
    is(nanosleep(&none, NULL))                                              \
    is(clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL))                    \
    is(thrd_sleep(&none, NULL))                                             \
    is(pause())                                                             \
    is(sigsuspend(&set))                                                    \
    is(sigtimedwait(&set, NULL, &none))                                     \
    is(sigwaitinfo(&set, NULL))                                             \
    is(sigwait(&set, &(int){ 0 }))                                          \
    is(poll(NULL, 0, 1))                                                    \
    is(ppoll(NULL, 0, &none, NULL))                                         \
    is(select(0, NULL, NULL, NULL, &at_once))                               \
    is(pselect(0, NULL, NULL, NULL, &none, NULL))                           \
    is(epoll_wait(epoll, &event, 1, 0))                                     \
    is(epoll_pwait(epoll, &event, 1, 0, NULL))                              \
    is(read(null, byte, 1))                                                 \
    is(readv(null, &vector, 1))                                             \
    is(pread(null, byte, 1, 0))                                             \
    is(preadv(null, &vector, 1, 0))                                         \
    is(write(null, byte, 1))                                                \
    is(write(STDOUT_FILENO, byte, 0))                                       \
    is(writev(null, &vector, 1))                                            \
    is(pwrite(null, byte, 1, 0))                                            \
    is(pwritev(null, &vector, 1, 0))                                        \
    is(open("/dev/null", O_RDONLY))                                         \
    is(openat(AT_FDCWD, "/dev/null", O_RDONLY))                             \
    is(creat("/dev/null", 0600))                                            \
    is(close(-1))                                                           \
    is(fcntl(null, F_SETLKW, &lock))                                        \
    is(fsync(null))                                                         \
    is(fdatasync(null))                                                     \
    is(msync(NULL, 0, MS_SYNC))                                             \
    is(tcdrain_of_null())                                                   \
    is(connect(-1, NULL, 0))                                                \
    is(accept(-1, NULL, NULL))                                              \
    is(accept4(-1, NULL, NULL, 0))                                          \
    is(recv(sockets[0], byte, 1, 0))                                        \
    is(recvfrom(sockets[0], byte, 1, 0, NULL, NULL))                        \
    is(recvmsg(sockets[0], &message, 0))                                    \
    is(send(sockets[0], byte, 1, 0))                                        \
    is(sendto(sockets[0], byte, 1, 0, NULL, 0))                             \
    is(sendmsg(sockets[0], &message, 0))                                    \
    is(wait(NULL))                                                          \
    is(waitpid(-1, NULL, WNOHANG))                                          \
    is(waitid(P_ALL, 0, NULL, WNOHANG | WEXITED))                           \
    is(lockf(null, F_LOCK, 0))

/* POSIX or glibc specifies that these are no cancellation points. */
#define EACH_OTHER(is)                                                      \
    is((pthread_mutex_lock(&m), pthread_mutex_unlock(&m)))                  \
    is((pthread_mutex_timedlock(&m, &past), pthread_mutex_unlock(&m)))      \
    is((pthread_mutex_trylock(&m), pthread_mutex_unlock(&m)))               \
    is((pthread_spin_lock(&spin), pthread_spin_unlock(&spin)))              \
    is((pthread_rwlock_rdlock(&rw), pthread_rwlock_unlock(&rw)))            \
    is((pthread_rwlock_wrlock(&rw), pthread_rwlock_unlock(&rw)))            \
    is(pthread_barrier_wait(&alone))                                        \
    is(pthread_cond_signal(&c))                                             \
    is(pthread_cond_broadcast(&c))                                          \
    is(pthread_once(&once, nothing))                                        \
    is((sem_post(&full), sem_trywait(&full)))                               \
    is(pthread_tryjoin_np(first, NULL))                                     \
    is(pthread_kill(pthread_self(), 0))                                     \
    is(pthread_sigmask(SIG_BLOCK, &set, NULL))                              \
    is(sched_yield())                                                       \
    is(pthread_setname_np(pthread_self(), "x"))                             \
    is(fcntl(null, F_GETFL))                                                \
    is(dup(-1))                                                             \
    is(lseek(null, 0, SEEK_CUR))                                            \
    is(getpid())                                                            \
    is(free(malloc(10)))

static int tcdrain_of_null(void)
{
    extern int tcdrain(int);
    return tcdrain(null);
}

static const char *const names[] = {
#define NAME(call) #call,
    EACH_POINT(NAME) EACH_OTHER(NAME)
};

static void call_number(int number)
{
    int at = 0;
#define CALL(call)      \
    if (at++ == number) \
        (void)call;
    EACH_POINT(CALL)
    EACH_OTHER(CALL)
}

#define ONE(call) +1
enum { POINTS = 0 EACH_POINT(ONE), ALL = POINTS EACH_OTHER(ONE) };

static void *come_to(void *number)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    call_number((int)(long)number);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return number;
}

/* A thread to join, which has not ended yet. */
static void *stay(void *unused)
{
    sem_wait(&leave);
    return unused;
}

int main(int argc, char **argv)
{
    int from = argc > 1 ? atoi(argv[1]) : 0, to = argc > 1 ? from + 1 : ALL;
    CHECK(0, pipe(ends));
    CHECK(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    null = open("/dev/null", O_RDWR);
    epoll = epoll_create1(0);
    sem_init(&empty, 0, 0);
    sem_init(&leave, 0, 0);
    sem_init(&full, 0, 1000);
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&alone, NULL, 1);
    sigemptyset(&set);
    for (int i = from; i < to; i++) {
        CHECK(0, pthread_create(&first, NULL, stay, NULL));
        void *result = run_in_thread(come_to, (void *)(long)i);
        if ((result == PTHREAD_CANCELED) != (i < POINTS)) {
            printf("%s is %s\n", names[i], i < POINTS ? "a cancellation point" : "none");
            failures++;
        }
        sem_post(&leave);
        CHECK(0, pthread_join(first, NULL));
        CHECK(0, pthread_mutex_trylock(&m));
        CHECK(0, pthread_mutex_unlock(&m));
    }
    return conforms();
}
