// main waits for an atomic variable, which the library reads sixteen times before it sleeps. Another thread
// writes to main's stack meanwhile.
#include <atomic>
#include <cassert>
#include <thread>

int main() {
    std::atomic<int> flag(0), other(0);
    int result = 0;
    std::thread sets([&] {
        result = 1;
        flag = 1;
        flag.notify_one();
    });
    std::thread writes([&] { other = 1; });
    flag.wait(0);
    assert(result == 1);
    sets.join();
    writes.join();
}
