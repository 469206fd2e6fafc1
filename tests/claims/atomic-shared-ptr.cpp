// One thread stores to an atomic shared_ptr that another loads.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
int main() {
    std::atomic<std::shared_ptr<int>> pointer(std::make_shared<int>(1));
    std::thread other([&] { pointer = std::make_shared<int>(2); });
    auto copy = pointer.load();
    if (*copy != 1 && *copy != 2) std::abort();
    other.join();
    return 0;
}
