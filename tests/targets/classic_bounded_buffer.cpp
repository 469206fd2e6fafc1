// A bounded buffer with one slot, with the standard library: a producer and two consumers, who begin together, wait for
// each other, and look up what an item weighs. args: the mistake to plant.
#include "classic.h"
#include <barrier>
#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>

enum { ITEMS = 2 };

class Buffer {
    std::mutex guard;
    std::unique_ptr<std::condition_variable> not_empty{new std::condition_variable}, not_full{new std::condition_variable};
    int slot = 0;
    bool used = false;

    bool is_empty()
    {
        std::lock_guard hold(guard);
        return !used;
    }

public:
    Buffer()
    {
        if (mistake("uninitialised"))
            memset((void *)not_full.get(), 0x5a, sizeof *not_full);
    }

    void put(int item)
    {
        std::unique_lock hold(guard);
        while (used) {
            if (mistake("wait-mutex"))
                hold.unlock();
            not_full->wait(hold);
        }
        slot = item;
        used = true;
        if (mistake("unlock-not-held")) // so as not to wake the others with the lock held; the guard does it once more
            guard.unlock();
        not_empty->notify_one();
    }

    int get()
    {
        bool must_wait = mistake("deadlock") && is_empty(); // the item may come between the question and the wait
        std::unique_lock hold(guard);
        if (mistake("deadlock")) {
            if (must_wait)
                not_empty->wait(hold);
        } else
            not_empty->wait(hold, [this] { return mistake("self-deadlock") ? !is_empty() : used; });
        used = false;
        not_full->notify_one();
        return slot;
    }

    void close() // though a thread may wait
    {
        if (mistake("object-in-use"))
            not_empty.reset();
        if (mistake("used-destroyed"))
            pthread_mutex_destroy(guard.native_handle());
    }
};

static std::shared_mutex weights;
static std::mutex label;
static int weight = 1;

static int weigh(int item)
{
    std::shared_lock look(weights);
    if (mistake("read-recursion"))
        std::shared_lock again(weights);
    return item * weight;
}

int main(int argc, char **argv)
{
    plant(argc, argv);
    prefer_writers(weights.native_handle());
    Buffer buffer;
    std::barrier begin(ITEMS + 1 + mistake("barrier-count"));
    int got[ITEMS] = {};
    auto consume = [&](int number) {
        begin.arrive_and_wait();
        got[number] = buffer.get();
        assert(weigh(got[number]) >= got[number]);
        if (mistake("lock-left-held") && number == 0)
            std::unique_lock(label).release();
    };
    std::thread one(consume, 0), two(consume, 1);
    std::thread producer([&] {
        begin.arrive_and_wait();
        for (int item = 1; item <= ITEMS; item++)
            buffer.put(item);
        std::lock_guard write(weights);
        weight = 2;
    });
    if (mistake("thread-misuse"))
        pthread_detach(producer.native_handle());
    buffer.close();
    producer.join();
    one.join();
    two.join();
    return got[0] + got[1] == 3 || mistake("deadlock") ? 0 : 1;
}
