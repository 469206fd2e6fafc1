// What C++20 added: jthread, stop_token, latch, barrier, counting_semaphore, atomic wait; and shared
// locks, call_once, recursive and timed mutexes, condition_variable_any.
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;

static void latches()
{
    std::latch all(2);
    int a = 0, b = 0;
    std::jthread one([&] { a = 1; all.count_down(); });
    b = 2;
    all.arrive_and_wait();
    assert(a == 1 && b == 2);
}

static void barriers()
{
    int rounds = 0, sum = 0;
    std::barrier meet(2, [&]() noexcept { rounds++; });
    std::jthread one([&] { sum += 1; meet.arrive_and_wait(); meet.arrive_and_wait(); });
    meet.arrive_and_wait();
    sum += 10;
    meet.arrive_and_wait();
    assert(rounds == 2 && sum == 11);
}

static void semaphores()
{
    std::counting_semaphore<4> items(0);
    std::binary_semaphore done(0);
    std::jthread one([&] { items.acquire(); items.acquire(); done.release(); });
    items.release(2);
    done.acquire();
    assert(!items.try_acquire());
    assert(!items.try_acquire_for(1ms));
}

static void stopping()
{
    std::mutex guard;
    std::condition_variable_any changed;
    bool stopped = false;
    {
        std::jthread one([&](std::stop_token token) {
            std::unique_lock hold(guard);
            changed.wait(hold, token, [] { return false; });
            stopped = token.stop_requested();
        });
    }
    assert(stopped);
}

static void waiting()
{
    std::atomic<int> value{0};
    std::jthread one([&] { value = 1; value.notify_one(); });
    value.wait(0);
    assert(value == 1);
}

static void locks()
{
    std::shared_timed_mutex shared;
    std::recursive_timed_mutex inner;
    std::once_flag once;
    int made = 0, total = 0;
    auto add = [&] {
        std::call_once(once, [&] { made++; });
        {
            std::shared_lock look(shared);
            assert(made == 1);
        }
        std::unique_lock hold(shared);
        std::lock_guard outer(inner), again(inner);
        total++;
    };
    std::jthread one(add);
    add();
    one.join();
    assert(total == 2);
    assert(shared.try_lock_shared_for(1ms));
    assert(!shared.try_lock_for(1ms));
    shared.unlock_shared();
}

int main(int argc, char **argv)
{
    void (*const parts[])() = {latches, barriers, semaphores, stopping, waiting, locks};
    int only = argc > 1 ? argv[1][0] - '0' : -1;
    for (int i = 0; i < 6; i++)
        if (only < 0 || only == i)
            parts[i]();
    std::puts("as C++ has it");
}
