#include <mutex>
#include <thread>
#include <semaphore>
struct object { char before[600]; std::mutex lock; int value = 0; };
static object *shared;
static std::binary_semaphore s{0};
int main() {
    shared = new object;
    std::thread t([] { object *o = shared; { std::lock_guard g(o->lock); } s.release(); { std::lock_guard g(o->lock);  } });
    s.acquire();
    delete shared;
    t.join();
}
