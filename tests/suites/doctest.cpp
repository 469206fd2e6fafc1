// The same four tests as in the other suites of this directory.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

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

TEST_CASE("lost, update [1]") { CHECK(with_two_threads(add) == 2); }
TEST_CASE("kept") { CHECK(with_two_threads(add_at_once) == 2); }
TEST_CASE("plain") { CHECK(1 + 1 == 2); }
TEST_CASE("off" * doctest::skip()) { CHECK(with_two_threads(add) == 3); }
