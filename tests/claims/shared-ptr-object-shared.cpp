// One thread assigns a shared_ptr that another copies: the copy can be of a freed object.
#include <cstdlib>
#include <memory>
#include <thread>
int main() {
    auto pointer = std::make_shared<int>(1);
    std::thread other([&] { pointer = std::make_shared<int>(2); });
    auto copy = pointer;
    if (*copy <= 0) std::abort();
    other.join();
    return 0;
}
