/* heddle.h: what a program can report to Heddle. For C and C++, gcc and clang, without dependencies.
 * Without Heddle, nothing here has an effect. `heddle header` prints this file. */
#ifndef HEDDLE_H
#define HEDDLE_H

#if defined(__GNUC__) && defined(__linux__)

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_WEAK_ __attribute__((weak))
extern void heddle_begin(void) HEDDLE_WEAK_;
extern void heddle_point_at(const volatile void *object) HEDDLE_WEAK_;
extern void heddle_name(const volatile void *object, const char *name) HEDDLE_WEAK_;
extern void heddle_atomic_begin(void) HEDDLE_WEAK_;
extern void heddle_atomic_end(void) HEDDLE_WEAK_;
extern void heddle_cp_arrive(const volatile void *group, unsigned count, unsigned number,
                             int priority) HEDDLE_WEAK_;
extern int heddle_cp_evaluated(int holds) HEDDLE_WEAK_;
extern void heddle_cp_leave(void) HEDDLE_WEAK_;
extern void heddle_serial_begin(const volatile void *identity) HEDDLE_WEAK_;
extern void heddle_serial_end(void) HEDDLE_WEAK_;
extern void heddle_failed(const char *expression, const char *file, unsigned line,
                          const char *function) HEDDLE_WEAK_;
#undef HEDDLE_WEAK_

#ifdef __cplusplus
}
#endif

/* Executions begin here instead of at main: what the program does before is done once. To be called
 * before the first thread is created. */
#define heddle_begin() (heddle_begin ? heddle_begin() : (void)0)

/* A scheduling point: another thread may run here. Points of the same object are explored in every
 * order; NULL means one object that all such points share. */
#define heddle_point(object) (heddle_point_at ? heddle_point_at(object) : (void)0)

/* The name of an object (a lock, a variable, a heap block) in all output. At most 31 bytes of it are
 * used. */
#define heddle_name(object, name) (heddle_name ? heddle_name(object, name) : (void)0)

/* Between these the thread is not preempted; while it has to wait, other threads run. They nest. */
#define heddle_atomic_begin() (heddle_atomic_begin ? heddle_atomic_begin() : (void)0)
#define heddle_atomic_end() (heddle_atomic_end ? heddle_atomic_end() : (void)0)

/* Reports a failure if the condition is false, also with NDEBUG. Without Heddle the condition is not
 * evaluated. */
#define heddle_assert(condition)                                                                  \
    (!heddle_failed || (condition) ? (void)0                                                      \
                                   : heddle_failed(#condition, __FILE__, __LINE__, __func__))

/* Concurrent predicates. A thread waits at heddle_cp until its predicate is true and as many other
 * threads of the group as wanted wait with their predicates true:
 *
 *   heddle_cp(&group, pre, predicate, control, number, priority, satisfied, otherwise, post);
 *
 *   group      a heddle_cp_group, shared by the threads that are counted together
 *   pre        statements that are executed on arrival; (void)0 for none
 *   predicate  an expression, evaluated again whenever something may have changed
 *   control    how many others: HEDDLE_NONE, HEDDLE_FEWER, HEDDLE_MORE, HEDDLE_EXACTLY (than, or as,
 *              `number`), or HEDDLE_ALL: all that wait, and at least one, when no other can arrive
 *   priority   of several threads, one with a higher number goes first
 *   satisfied  statements that are executed if the thread was counted; else `otherwise` are
 *   post       statements that are executed last
 *
 * All threads that were counted in one state are satisfied, and execute their statements before
 * any other thread runs: what was decided stays true. Statements are not preempted, and are not left by
 * a jump. A thread continues with `otherwise` when no other thread can run.
 *
 * Without Heddle nothing of it is executed. With HEDDLE_CP_TIMED defined (in all files), threads wait
 * in real time instead: they try HEDDLE_CP_RETRIES times, with pauses of 10 microseconds, 20, 40 and so
 * on up to 10 milliseconds. Only the threads of a group exclude each other then. */
#define HEDDLE_NONE 0
#define HEDDLE_FEWER 1
#define HEDDLE_MORE 2
#define HEDDLE_EXACTLY 3
#define HEDDLE_ALL 4

#ifdef HEDDLE_CP_TIMED
#include <pthread.h>
#include <time.h>
#ifndef HEDDLE_CP_RETRIES
#define HEDDLE_CP_RETRIES 100
#endif
struct heddle_cp_visit_ {
    struct heddle_cp_visit_ *next;
    int holds, satisfied, control, priority, running;
    unsigned number, tries;
    long pause;
};
typedef struct {
    pthread_mutex_t lock;
    struct heddle_cp_visit_ *first;
} heddle_cp_group;
#define HEDDLE_CP_GROUP {PTHREAD_MUTEX_INITIALIZER, 0}

/* Marks the waiting threads whose counts are as wanted, all by the same state. */
static inline void heddle_cp_decide_(heddle_cp_group *group, int last)
{
    struct heddle_cp_visit_ *one, *other;
    for (one = group->first; one; one = one->next)
        if (one->satisfied)
            return; /* their statements are executed first */
    for (one = group->first; one; one = one->next) {
        unsigned holding = 0, waiting = 0;
        for (other = group->first; other; other = other->next)
            if (other != one) {
                waiting++;
                holding += other->holds != 0;
            }
        one->running = one->holds
            && (one->control == HEDDLE_NONE      ? holding == 0
                : one->control == HEDDLE_FEWER   ? holding < one->number
                : one->control == HEDDLE_MORE    ? holding > one->number
                : one->control == HEDDLE_EXACTLY ? holding == one->number
                                                 : last && waiting > 0 && holding == waiting);
    }
    for (one = group->first; one; one = one->next) {
        one->satisfied = one->running;
        one->running = 0;
    }
}

static inline int heddle_cp_turn_(heddle_cp_group *group, struct heddle_cp_visit_ *me)
{
    struct heddle_cp_visit_ *other;
    for (other = group->first; other; other = other->next)
        if (other != me && other->satisfied && other->priority > me->priority)
            return 0;
    return 1;
}

/* 1 if the thread is satisfied, 0 if it gives up, 2 if it has to evaluate the predicate again. */
static inline int heddle_cp_timed_(heddle_cp_group *group, struct heddle_cp_visit_ *me, int holds)
{
    struct timespec pause;
    if (!me->satisfied) {
        me->holds = holds;
        heddle_cp_decide_(group, me->tries + 1 >= HEDDLE_CP_RETRIES);
    }
    if (me->satisfied && heddle_cp_turn_(group, me))
        return 1;
    if (!me->satisfied && ++me->tries >= HEDDLE_CP_RETRIES)
        return 0;
    pthread_mutex_unlock(&group->lock);
    me->pause = me->pause == 0 ? 10000 : me->pause < 5000000 ? 2 * me->pause : 10000000;
    pause.tv_sec = 0;
    pause.tv_nsec = me->pause;
    nanosleep(&pause, 0);
    pthread_mutex_lock(&group->lock);
    return 2;
}

static inline void heddle_cp_left_(heddle_cp_group *group, struct heddle_cp_visit_ *me)
{
    struct heddle_cp_visit_ **at = &group->first;
    while (*at != me)
        at = &(*at)->next;
    *at = me->next;
}

#define HEDDLE_CP_ELSE_(group, pre, predicate, control_, number_, priority_, satisfied_, otherwise, \
                        post)                                                                     \
    {                                                                                             \
        struct heddle_cp_visit_ heddle_me_ = {0, 0, 0, (control_), (priority_), 0, (number_), 0, 0}; \
        int heddle_is_;                                                                           \
        pthread_mutex_lock(&(group)->lock);                                                       \
        pre;                                                                                      \
        heddle_me_.next = (group)->first;                                                         \
        (group)->first = &heddle_me_;                                                             \
        while ((heddle_is_ = heddle_cp_timed_((group), &heddle_me_, (predicate) != 0)) == 2) {    \
        }                                                                                         \
        if (heddle_is_) {                                                                         \
            satisfied_;                                                                           \
        } else {                                                                                  \
            otherwise;                                                                            \
        }                                                                                         \
        post;                                                                                     \
        heddle_cp_left_((group), &heddle_me_);                                                    \
        pthread_mutex_unlock(&(group)->lock);                                                     \
    }
#define HEDDLE_SERIAL_BEGIN_(group) pthread_mutex_lock(&(group)->lock)
#define HEDDLE_SERIAL_END_(group) pthread_mutex_unlock(&(group)->lock)
__attribute__((weak)) heddle_cp_group heddle_cp_everyone_ = HEDDLE_CP_GROUP;
#define HEDDLE_EVERYONE_ (&heddle_cp_everyone_)
#else
typedef struct {
    char unused;
} heddle_cp_group;
#define HEDDLE_CP_GROUP {0}
#define HEDDLE_CP_ELSE_(group, pre, predicate, control, number, priority, satisfied, otherwise, post)  \
    {                                                                                             \
        (void)(group);                                                                            \
    }
#define HEDDLE_SERIAL_BEGIN_(group) (void)(group)
#define HEDDLE_SERIAL_END_(group) (void)(group)
#define HEDDLE_EVERYONE_ 0
#endif

#define heddle_cp(group, pre, predicate, control, number, priority, satisfied, otherwise, post)   \
    do {                                                                                          \
        if (heddle_cp_arrive) {                                                                   \
            int heddle_is_;                                                                       \
            heddle_cp_arrive((group), (control), (number), (priority));                           \
            pre;                                                                                  \
            while ((heddle_is_ = heddle_cp_evaluated((predicate) != 0)) == 2) {                   \
            }                                                                                     \
            if (heddle_is_) {                                                                     \
                satisfied;                                                                        \
            } else {                                                                              \
                otherwise;                                                                        \
            }                                                                                     \
            post;                                                                                 \
            heddle_cp_leave();                                                                    \
        } else                                                                                    \
            HEDDLE_CP_ELSE_(group, pre, predicate, control, number, priority, satisfied, otherwise,    \
                            post)                                                                 \
    } while (0)

/* Statements of threads that do not matter for what is sought: they are executed without a preemption.
 * Of the statements with the same group, one thread at a time executes any. Without Heddle they are just
 * executed; with HEDDLE_CP_TIMED, one thread at a time. */
#define heddle_cp_serial(statements)                                                              \
    do {                                                                                          \
        if (heddle_serial_begin)                                                                  \
            heddle_serial_begin(0);                                                               \
        else                                                                                      \
            HEDDLE_SERIAL_BEGIN_(HEDDLE_EVERYONE_);                                               \
        statements;                                                                               \
        if (heddle_serial_end)                                                                    \
            heddle_serial_end();                                                                  \
        else                                                                                      \
            HEDDLE_SERIAL_END_(HEDDLE_EVERYONE_);                                                 \
    } while (0)
#define heddle_cp_serial_id(group, statements)                                                    \
    do {                                                                                          \
        if (heddle_serial_begin)                                                                  \
            heddle_serial_begin(group);                                                           \
        else                                                                                      \
            HEDDLE_SERIAL_BEGIN_(group);                                                          \
        statements;                                                                               \
        if (heddle_serial_end)                                                                    \
            heddle_serial_end();                                                                  \
        else                                                                                      \
            HEDDLE_SERIAL_END_(group);                                                            \
    } while (0)

#else /* another system or compiler */

#define heddle_begin() ((void)0)
#define heddle_point(object) ((void)(object))
#define heddle_name(object, name) ((void)(object), (void)(name))
#define heddle_atomic_begin() ((void)0)
#define heddle_atomic_end() ((void)0)
#define heddle_assert(condition) ((void)sizeof(!(condition)))
typedef struct {
    char unused;
} heddle_cp_group;
#define HEDDLE_CP_GROUP {0}
#define heddle_cp(group, pre, predicate, control, number, priority, satisfied, otherwise, post)   \
    ((void)(group))
#define heddle_cp_serial(statements)                                                              \
    do {                                                                                          \
        statements;                                                                               \
    } while (0)
#define heddle_cp_serial_id(group, statements) heddle_cp_serial(statements)

#endif
#endif
