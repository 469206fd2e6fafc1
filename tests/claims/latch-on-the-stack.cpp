// main waits until two threads have counted down a latch on its stack.
#include <cassert>
#include <latch>
#include <thread>

int main() {
    std::latch latch(2);
    int results[2] = {0, 0};
    std::thread first([&] {
        results[0] = 1;
        latch.count_down();
    });
    std::thread second([&] {
        results[1] = 2;
        latch.count_down();
    });
    latch.wait();
    assert(results[0] + results[1] == 3);
    first.join();
    second.join();
}
