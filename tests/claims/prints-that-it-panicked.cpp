#include <cassert>
#include <thread>
#include <unistd.h>

static volatile int number;

int main() {
    std::thread thread([] {
        const char text[] = "\nthread 'a' (12) panicked at x.rs:1:2:\nb\n";
        if (write(2, text, sizeof text - 1) > 0) number = number + 1;
    });
    number = number + 1;
    thread.join();
    assert(number == 2);
    return 0;
}
