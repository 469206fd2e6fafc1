#include <cassert>
#include <mutex>
#include <thread>

static std::once_flag once;
static int tries;

static void call() {
    try {
        std::call_once(once, [] {
            if (tries++ == 0) throw 1;
        });
    } catch (int) {
    }
}

int main() {
    std::thread thread(call);
    call();
    thread.join();
    assert(tries == 2);
    return 0;
}
