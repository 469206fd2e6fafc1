// main takes a semaphore that a thread releases after it has set a variable.
#include <cassert>
#include <semaphore>
#include <thread>

int main() {
    std::binary_semaphore semaphore(0);
    int result = 0;
    std::thread thread([&] {
        result = 1;
        semaphore.release();
    });
    semaphore.acquire();
    assert(result == 1);
    thread.join();
}
