// The tests of the other suites of this directory, with GLib's threads.
#include <glib.h>

static int value;

static gpointer add(gpointer unused) {
    int seen = g_atomic_int_get(&value);
    g_atomic_int_set(&value, seen + 1);
    return unused;
}

static void lost(void) {
    GThread *first = g_thread_new("first", add, NULL), *second = g_thread_new("second", add, NULL);
    g_thread_join(first);
    g_thread_join(second);
    g_assert_cmpint(value, ==, 2);
}

static void plain(void) { g_assert_cmpint(1 + 1, ==, 2); }

int main(int count, char **words) {
    g_test_init(&count, &words, NULL);
    g_test_add_func("/counter/lost", lost);
    g_test_add_func("/counter/plain", plain);
    return g_test_run();
}
