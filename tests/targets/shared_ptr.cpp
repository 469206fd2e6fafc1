// Two threads copy one shared_ptr: in the end only main's own is left. A library that believes itself single-threaded
// counts without atomics here.
#include <cassert>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Payload {
    static int alive;
    int value = 42;
    Payload() { alive++; }
    ~Payload() { alive--; }
};
int Payload::alive = 0;

int main()
{
    std::mutex guard;
    auto shared = std::make_shared<Payload>();
    auto work = [&guard, shared] {
        std::vector<std::shared_ptr<Payload>> copies;
        for (int i = 0; i < 3; i++) {
            copies.push_back(shared);
            std::lock_guard<std::mutex> lock(guard);
            assert(copies.back()->value == 42);
        }
    };
    {
        std::thread one(work), two(work);
        one.join();
        two.join();
    }
    // One is main's, one is the lambda's.
    assert(shared.use_count() == 2);
    std::cout << "use_count " << shared.use_count() << ", alive " << Payload::alive << std::endl;
}
