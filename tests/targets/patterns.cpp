// One mistake of each kind between threads. args: which.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

// Published before it is initialised.
struct settings {
    int limit = 0;
    std::atomic<bool> ready{false};
};
static settings current;

static void publish()
{
    current.ready = true;
    current.limit = 10;
}

static void use()
{
    if (current.ready)
        assert(current.limit == 10);
}

// A value that has changed and changed back (ABA).
struct node {
    node *next = nullptr;
    bool taken = false;
};
static node second, first{&second};
static std::atomic<node *> top{&first};

static node *pop()
{
    node *seen = top.load();
    while (seen && !top.compare_exchange_strong(seen, seen->next)) {
    }
    return seen;
}

static void push(node *one)
{
    one->next = top.load();
    while (!top.compare_exchange_strong(one->next, one)) {
    }
}

static void pop_one()
{
    pop();
}

static void pop_two_push_one()
{
    node *one = pop();
    node *two = pop();
    if (two)
        two->taken = true;
    if (one)
        push(one);
}

// A wake-up before any thread waits.
static std::mutex guard;
static std::condition_variable changed;
static bool done;

static bool is_done()
{
    std::lock_guard<std::mutex> hold(guard);
    return done;
}

static void wait_for_it()
{
    if (is_done())
        return;
    std::unique_lock<std::mutex> hold(guard);
    changed.wait(hold);
}

static void do_it()
{
    std::lock_guard<std::mutex> hold(guard);
    done = true;
    changed.notify_one();
}

// Locks in opposite order.
static std::mutex left, right;

static void left_first()
{
    std::lock_guard<std::mutex> one(left);
    std::lock_guard<std::mutex> two(right);
}

static void right_first()
{
    std::lock_guard<std::mutex> one(right);
    std::lock_guard<std::mutex> two(left);
}

// One thread relies on the other having run first.
static std::unique_ptr<int> made;

static void make()
{
    std::lock_guard<std::mutex> hold(guard);
    made = std::make_unique<int>(7);
}

static void rely()
{
    std::lock_guard<std::mutex> hold(guard);
    assert(made != nullptr);
}

// Two updates that belong together, in two critical sections.
static int balance;

static int get()
{
    std::lock_guard<std::mutex> hold(guard);
    return balance;
}

static void set(int value)
{
    std::lock_guard<std::mutex> hold(guard);
    balance = value;
}

static void add()
{
    set(get() + 1);
}

static void both(void (*one)(), void (*two)())
{
    std::thread other(one), another(two);
    other.join();
    another.join();
}

int main(int, char **argv)
{
    const char *which = argv[1] ? argv[1] : "";
    if (!std::strcmp(which, "publication"))
        both(publish, use);
    if (!std::strcmp(which, "aba")) {
        both(pop_one, pop_two_push_one);
        node *left_over = top.load();
        assert(!left_over || !left_over->taken);
    }
    if (!std::strcmp(which, "wakeup"))
        both(wait_for_it, do_it);
    if (!std::strcmp(which, "locks"))
        both(left_first, right_first);
    if (!std::strcmp(which, "order"))
        both(make, rely);
    if (!std::strcmp(which, "atomicity")) {
        both(add, add);
        assert(balance == 2);
    }
    return 0;
}
