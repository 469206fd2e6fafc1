// The same four tests as in the other suites of this directory.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

// Two threads may read the same value: an update is lost.
static void add(std::atomic<int> *value) {
    int seen = value->load();
    value->store(seen + 1);
}

static int with_two_threads(void (*step)(std::atomic<int> *)) {
    std::atomic<int> value{0};
    std::thread first(step, &value), second(step, &value);
    first.join();
    second.join();
    return value.load();
}

static void add_at_once(std::atomic<int> *value) { value->fetch_add(1); }

TEST(Counter, Lost) { EXPECT_EQ(with_two_threads(add), 2); }
TEST(Counter, Kept) { EXPECT_EQ(with_two_threads(add_at_once), 2); }
TEST(Counter, Plain) { EXPECT_EQ(1 + 1, 2); }
TEST(Counter, DISABLED_Off) { EXPECT_EQ(with_two_threads(add), 3); }
