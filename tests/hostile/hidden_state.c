/* State of the C library and of the kernel that no variable of the program holds. Each case has a thread that changes
   it, and in most cases changes it back, while main looks at it; main aborts if it meets the change. The first
   argument chooses the case. With a second argument the two wait for each other, so that every case fails natively. */
#define _GNU_SOURCE
#include "hidden_state_helpers.h"

struct test {
    const char *name;
    void (*before)(void), (*change)(void), (*back)(void);
    int (*look)(void);
};

#define CASE(name, start, set, reset, see)                                                                             \
    static void name##_before(void) { start; }                                                                         \
    static void name##_change(void) { set; }                                                                           \
    static void name##_back(void) { reset; }                                                                           \
    static int name##_look(void) { return see; }
#include "hidden_state_cases.h"
#undef CASE

#define CASE(name, start, set, reset, see) {#name, name##_before, name##_change, name##_back, name##_look},
static const struct test tests[] = {
#include "hidden_state_cases.h"
};

static const struct test *chosen;
static int slow;

static void *worker(void *unused)
{
    chosen->change();
    if (slow)
        usleep(200000);
    chosen->back();
    return unused;
}

int main(int count, char **arguments)
{
    const size_t number = sizeof tests / sizeof *tests;
    if (count < 2) {
        for (size_t at = 0; at < number; at++)
            puts(tests[at].name);
        return 0;
    }
    for (size_t at = 0; at < number; at++)
        if (!strcmp(tests[at].name, arguments[1]))
            chosen = &tests[at];
    if (!chosen)
        return 2;
    slow = count > 2;
    first = pthread_self();
    chosen->before();
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    if (slow)
        usleep(100000);
    if (chosen->look())
        abort();
    pthread_join(thread, NULL);
    return 0;
}
