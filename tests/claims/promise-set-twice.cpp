// Two threads set one promise: the second of them fails.
#include <cstdlib>
#include <future>
#include <thread>
int main() {
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread other([&] {
        try {
            promise.set_value(1);
        } catch (std::future_error &) {
            std::abort();
        }
    });
    try {
        promise.set_value(2);
    } catch (std::future_error &) {
    }
    other.join();
    return 0;
}
