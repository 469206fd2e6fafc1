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

#else /* another system or compiler */

#define heddle_begin() ((void)0)
#define heddle_point(object) ((void)(object))
#define heddle_name(object, name) ((void)(object), (void)(name))
#define heddle_atomic_begin() ((void)0)
#define heddle_atomic_end() ((void)0)
#define heddle_assert(condition) ((void)sizeof(!(condition)))

#endif
#endif
