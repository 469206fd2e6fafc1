// Thread-locals of C++ that global constructors touched: main keeps them, each thread makes its own.
#include <cassert>
#include <iostream>
#include <string>
#include <thread>

struct Counter {
    int value;
    explicit Counter(int start) : value(start) {}
};

static thread_local Counter counter(10);
static thread_local std::string text = "fresh";

struct Early {
    Early()
    {
        counter.value = 20;
        text = "set before main, and long enough to be allocated";
    }
};

static Early early;

int main()
{
    std::thread thread([] {
        assert(counter.value == 10);
        assert(text == "fresh");
        counter.value = 30;
        text += " and more";
    });
    thread.join();
    assert(counter.value == 20);
    std::cout << text << std::endl;
}
