// Futures: std::async in a separate thread and deferred, a
// promise, a packaged task, and an exception thrown by get().
#include <future>
#include <iostream>
#include <stdexcept>
#include <thread>

int main()
{
    auto in_thread = std::async(std::launch::async, [] { return 20; });
    auto deferred = std::async(std::launch::deferred, [] { return 1; });
    auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("as expected"); });

    std::promise<int> promise;
    auto promised = promise.get_future();
    std::thread keeper([&promise] { promise.set_value(300); });

    std::packaged_task<int(int)> task([](int x) { return x * 1000; });
    auto packaged = task.get_future();
    std::thread runner(std::move(task), 4);

    std::cout << packaged.get() + promised.get() + in_thread.get() + deferred.get() << std::endl;
    try {
        failing.get();
    } catch (const std::runtime_error &error) {
        std::cout << error.what() << std::endl;
    }
    keeper.join();
    runner.join();
}
