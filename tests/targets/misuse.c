/* One mistake for each argument: behaviour that POSIX leaves undefined, and glibc permits or
 * answers in some way. The comment of each describes the mistake. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem;
static pthread_t first, second;

static void *nothing(void *unused)
{
    return unused;
}

static void start(pthread_t *thread, void *(*work)(void *))
{
    pthread_create(thread, NULL, work, NULL);
}

static void *lock_m(void *unused)
{
    pthread_mutex_lock(&m);
    return unused;
}

static void unlock_free(void)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    pthread_mutex_unlock(&m);
}

static void *unlock_m(void *unused)
{
    pthread_mutex_unlock(&m);
    return unused;
}

static void unlock_foreign(void)
{
    pthread_mutex_lock(&m);
    start(&first, unlock_m);
    pthread_join(first, NULL);
}

static void relock(void)
{
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&m);
}

static void *busy(void *unused)
{
    for (;;)
        sched_yield();
    return unused;
}

/* While another task runs forever. */
static void relock_while_busy(void)
{
    start(&first, busy);
    relock();
}

static void destroy_locked(void)
{
    start(&first, lock_m);
    pthread_join(first, NULL);
    pthread_mutex_destroy(&m);
}

static void use_destroyed(void)
{
    pthread_mutex_destroy(&m);
    pthread_mutex_lock(&m);
}

static void *wait_c(void *unused)
{
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return unused;
}

static void *wait_c_other(void *unused)
{
    pthread_mutex_lock(&other);
    pthread_cond_wait(&c, &other);
    pthread_mutex_unlock(&other);
    return unused;
}

static void wait_two_mutexes(void)
{
    start(&first, wait_c);
    start(&second, wait_c_other);
    pthread_join(first, NULL);
}

static void wait_unlocked(void)
{
    pthread_cond_wait(&c, &m);
}

static void destroy_waited(void)
{
    start(&first, wait_c);
    pthread_cond_destroy(&c);
    pthread_cond_signal(&c);
    pthread_join(first, NULL);
}

static void destroy_waiting_mutex(void)
{
    start(&first, wait_c);
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_mutex_destroy(&m);
}

static void init_waited(void)
{
    start(&first, wait_c);
    sched_yield();
    pthread_cond_init(&c, NULL);
    pthread_join(first, NULL);
}

static void signal_destroyed(void)
{
    pthread_cond_destroy(&c);
    pthread_cond_signal(&c);
}

static void uninitialised(void)
{
    memset(&m, 0x5a, sizeof m);
    pthread_mutex_lock(&m);
}

static void copied(void)
{
    pthread_mutex_t copy;
    pthread_mutex_lock(&m);
    memcpy(&copy, &m, sizeof copy);
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&copy);
}

static void rw_copied(void)
{
    pthread_rwlock_t copy;
    pthread_rwlock_rdlock(&rw);
    memcpy(&copy, &rw, sizeof copy);
    pthread_rwlock_unlock(&rw);
    pthread_rwlock_wrlock(&copy);
}

static void spin_copied(void)
{
    pthread_spinlock_t copy;
    pthread_spin_init(&spin, 0);
    pthread_spin_lock(&spin);
    memcpy((void *)&copy, (void *)&spin, sizeof copy);
    pthread_spin_unlock(&spin);
    pthread_spin_lock(&copy);
}

static void cond_uninitialised(void)
{
    memset(&c, 0x5a, sizeof c);
    pthread_cond_signal(&c);
}

static void rw_uninitialised(void)
{
    memset(&rw, 0x5a, sizeof rw);
    pthread_rwlock_rdlock(&rw);
}

static void spin_uninitialised(void)
{
    memset((void *)&spin, 0x5a, sizeof spin);
    pthread_spin_trylock(&spin);
}

static void sem_uninitialised(void)
{
    memset(&sem, 0x5a, sizeof sem);
    sem_post(&sem);
}

static void barrier_written_over(void)
{
    memset(&barrier, 0x5a, sizeof barrier);
    pthread_barrier_wait(&barrier);
}

static void join_twice(void)
{
    start(&first, nothing);
    pthread_join(first, NULL);
    pthread_join(first, NULL);
}

static void join_self(void)
{
    pthread_join(pthread_self(), NULL);
}

static void join_detached(void)
{
    start(&first, nothing);
    pthread_detach(first);
    pthread_join(first, NULL);
}

static void *join_first(void *unused)
{
    pthread_join(first, NULL);
    return unused;
}

static void join_by_two(void)
{
    start(&first, nothing);
    start(&second, join_first);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

static void detach_twice(void)
{
    start(&first, nothing);
    pthread_detach(first);
    pthread_detach(first);
}

static void rw_unlock_free(void)
{
    pthread_rwlock_unlock(&rw);
}

static void *read_rw(void *unused)
{
    pthread_rwlock_rdlock(&rw);
    return unused;
}

static void rw_unlock_foreign(void)
{
    start(&first, read_rw);
    pthread_join(first, NULL);
    pthread_rwlock_unlock(&rw);
}

static void rw_destroy_locked(void)
{
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_destroy(&rw);
}

static void rw_use_destroyed(void)
{
    pthread_rwlock_destroy(&rw);
    pthread_rwlock_rdlock(&rw);
}

static void rw_upgrade(void)
{
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_wrlock(&rw);
}

static void *write_rw(void *unused)
{
    pthread_rwlock_wrlock(&rw);
    pthread_rwlock_unlock(&rw);
    return unused;
}

/* The inner read waits for the writer, the writer for the outer read. */
static void rw_recursion(void)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&rw, &attributes);
    start(&first, write_rw);
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_unlock(&rw);
    pthread_rwlock_unlock(&rw);
    pthread_join(first, NULL);
}

static void spin_unlock_free(void)
{
    pthread_spin_init(&spin, 0);
    pthread_spin_unlock(&spin);
}

static void *lock_spin(void *unused)
{
    pthread_spin_lock(&spin);
    return unused;
}

static void spin_unlock_foreign(void)
{
    pthread_spin_init(&spin, 0);
    start(&first, lock_spin);
    pthread_join(first, NULL);
    pthread_spin_unlock(&spin);
}

static void spin_relock(void)
{
    pthread_spin_init(&spin, 0);
    pthread_spin_lock(&spin);
    pthread_spin_lock(&spin);
}

static void *wait_barrier(void *unused)
{
    pthread_barrier_wait(&barrier);
    return unused;
}

static void barrier_count(void)
{
    pthread_barrier_init(&barrier, NULL, 3);
    start(&first, wait_barrier);
    pthread_barrier_wait(&barrier);
    pthread_join(first, NULL);
}

static void barrier_destroy_waited(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    start(&first, wait_barrier);
    pthread_barrier_destroy(&barrier);
}

static void barrier_uninitialised(void)
{
    pthread_barrier_wait(&barrier);
}

static void *wait_sem(void *unused)
{
    sem_wait(&sem);
    return unused;
}

static void sem_destroy_waited(void)
{
    sem_init(&sem, 0, 0);
    start(&first, wait_sem);
    sem_destroy(&sem);
}

static void sem_use_destroyed(void)
{
    sem_init(&sem, 0, 1);
    sem_destroy(&sem);
    sem_wait(&sem);
}

/* An address where no object can be, and which cannot be read before the call. */
static void *volatile nowhere = (void *)64;

static void sem_nowhere(void)
{
    sem_wait(nowhere);
}

static void trylock_nowhere(void)
{
    pthread_mutex_trylock(nowhere);
}

static void rw_unlock_nowhere(void)
{
    pthread_rwlock_unlock(nowhere);
}

static void *lock_both(void *unused)
{
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    return unused;
}

static void leave_mutex(void)
{
    start(&first, lock_both);
    pthread_join(first, NULL);
}

static void *exit_reading(void *unused)
{
    pthread_rwlock_rdlock(&rw);
    pthread_exit(unused);
}

static void leave_read(void)
{
    start(&first, exit_reading);
    pthread_join(first, NULL);
}

static void *cancelled_writing(void *unused)
{
    pthread_rwlock_wrlock(&rw);
    for (;;)
        pause();
    return unused;
}

static void leave_written(void)
{
    start(&first, cancelled_writing);
    pthread_cancel(first);
    pthread_join(first, NULL);
}

static void leave_spin(void)
{
    pthread_spin_init(&spin, 0);
    start(&first, lock_spin);
    pthread_join(first, NULL);
}

static const struct {
    const char *name;
    void (*make)(void);
} mistakes[] = {
#define MISTAKE(name) { #name, name }
    MISTAKE(unlock_free),
    MISTAKE(unlock_foreign),
    MISTAKE(relock),
    MISTAKE(relock_while_busy),
    MISTAKE(destroy_locked),
    MISTAKE(use_destroyed),
    MISTAKE(wait_two_mutexes),
    MISTAKE(wait_unlocked),
    MISTAKE(destroy_waited),
    MISTAKE(destroy_waiting_mutex),
    MISTAKE(init_waited),
    MISTAKE(signal_destroyed),
    MISTAKE(uninitialised),
    MISTAKE(copied),
    MISTAKE(rw_copied),
    MISTAKE(spin_copied),
    MISTAKE(cond_uninitialised),
    MISTAKE(rw_uninitialised),
    MISTAKE(spin_uninitialised),
    MISTAKE(sem_uninitialised),
    MISTAKE(barrier_written_over),
    MISTAKE(join_twice),
    MISTAKE(join_self),
    MISTAKE(join_detached),
    MISTAKE(join_by_two),
    MISTAKE(detach_twice),
    MISTAKE(rw_unlock_free),
    MISTAKE(rw_unlock_foreign),
    MISTAKE(rw_destroy_locked),
    MISTAKE(rw_use_destroyed),
    MISTAKE(rw_upgrade),
    MISTAKE(rw_recursion),
    MISTAKE(spin_unlock_free),
    MISTAKE(spin_unlock_foreign),
    MISTAKE(spin_relock),
    MISTAKE(barrier_count),
    MISTAKE(barrier_destroy_waited),
    MISTAKE(barrier_uninitialised),
    MISTAKE(sem_destroy_waited),
    MISTAKE(sem_use_destroyed),
    MISTAKE(sem_nowhere),
    MISTAKE(trylock_nowhere),
    MISTAKE(rw_unlock_nowhere),
    MISTAKE(leave_mutex),
    MISTAKE(leave_read),
    MISTAKE(leave_written),
    MISTAKE(leave_spin),
};

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        if (argc == 2 && strcmp(mistakes[i].name, argv[1]) == 0) {
            mistakes[i].make();
            return 0;
        }
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        puts(mistakes[i].name);
    return 0;
}
