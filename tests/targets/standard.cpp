// What ordinary C++ uses: thread, mutex, condition_variable, exceptions caught where they are thrown, exception_ptr
// across threads, a static local that two threads initialise, call_once, iostream.
#include <cassert>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <mutex>
#include <queue>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

static int made;

struct Table {
    int size;
    Table() : size(26) { made++; }
};

static Table &table()
{
    static Table only;
    return only;
}

class Queue {
    std::mutex guard;
    std::condition_variable changed;
    std::queue<int> items;

public:
    void push(int item)
    {
        std::lock_guard<std::mutex> lock(guard);
        items.push(item);
        changed.notify_one();
    }

    int pop()
    {
        std::unique_lock<std::mutex> lock(guard);
        changed.wait(lock, [this] { return !items.empty(); });
        int item = items.front();
        items.pop();
        return item;
    }
};

// What two threads may do first, but only one does.
static int first()
{
    std::once_flag once;
    int calls = 0;
    std::thread other([&] {
        std::call_once(once, [&] { calls++; });
        assert(table().size == 26);
    });
    std::call_once(once, [&] { calls++; });
    assert(table().size == 26);
    other.join();
    std::cout << made << calls << std::endl;
    return 0;
}

int main(int argc, char **)
{
    if (argc > 1)
        return first();
    Queue queue;
    std::exception_ptr failure;

    std::thread producer([&] {
        queue.push(26);
        try {
            throw std::out_of_range("too far");
        } catch (const std::out_of_range &error) {
            queue.push(static_cast<int>(std::string(error.what()).size()));
        }
        try {
            throw std::runtime_error("carried over");
        } catch (...) {
            failure = std::current_exception();
        }
    });
    int sum = queue.pop() + queue.pop();
    producer.join();

    std::ostringstream text;
    try {
        std::rethrow_exception(failure);
    } catch (const std::runtime_error &error) {
        text << sum << " " << error.what();
    }
    std::cout << text.str() << std::endl;
}
