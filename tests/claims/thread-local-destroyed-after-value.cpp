// A thread sets a promise and ends: its thread-local object is destroyed after main has the value, or before.
#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>
static std::atomic<int> destroyed;
struct Last {
    int used = 0;
    ~Last() { destroyed = 1; }
};
static thread_local Last last;
int main() {
    std::promise<void> promise;
    auto future = promise.get_future();
    std::thread other([&] {
        last.used = 1;
        promise.set_value();
    });
    future.get();
    int seen = destroyed;
    other.join();
    if (seen) std::abort();
    return 0;
}
