// The same four tests as in the other suites of this directory.
#define BOOST_TEST_MODULE counters
#include <boost/test/included/unit_test.hpp>

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

BOOST_AUTO_TEST_SUITE(counter)
BOOST_AUTO_TEST_CASE(lost) { BOOST_TEST(with_two_threads(add) == 2); }
BOOST_AUTO_TEST_CASE(kept) { BOOST_TEST(with_two_threads(add_at_once) == 2); }
BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_CASE(plain) { BOOST_TEST(1 + 1 == 2); }
BOOST_AUTO_TEST_CASE(off, *boost::unit_test::disabled()) { BOOST_TEST(1 + 1 == 3); }
