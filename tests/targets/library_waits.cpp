// Deadlocks over what C++'s library implements with futexes: each is named by its argument.

#include <atomic>
#include <barrier>
#include <cstring>
#include <future>
#include <thread>

static std::barrier<> gate{3};
static std::atomic_flag flag;
static std::atomic<int> ready{0};

template <class One, class Other> static void both(One one, Other other)
{
    std::thread first(one), second(other);
    first.join();
    second.join();
}

int main(int, char **arguments)
{
    const char *what = arguments[1];
    if (!strcmp(what, "barrier"))
        both([] { gate.arrive_and_wait(); }, [] { gate.arrive_and_wait(); });
    if (!strcmp(what, "flag"))
        both([] { flag.wait(false); }, [] { flag.test_and_set(); });
    if (!strcmp(what, "future")) {
        std::promise<int> one, other;
        std::future<int> of_one = one.get_future(), of_other = other.get_future();
        both([&] { other.set_value(of_one.get()); }, [&] { one.set_value(of_other.get()); });
    }
    return ready;
}
