// Variables of many types, for conditions of predicates. No run fails.
#include <array>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace store {
enum class Colour { Red = 1, Green, Blue };
struct Base { int id = 3; virtual ~Base() = default; };
class Queue : public Base {
public:
    std::vector<int> items;
    std::mutex lock;
    std::atomic<int> pushed{0};
    Colour colour = Colour::Green;
    unsigned flags : 3;
    signed level : 4;
    unsigned long wide : 40;
    std::array<int, 3> grid{10, 11, 12};
    std::list<int> links{1, 2};
    std::map<int, int> tree{{1, 2}, {3, 4}};
    std::unordered_map<int, int> table{{1, 2}};
    double load = 1.5;
    std::string name = "queue";
    static int made;
    Queue *self = this;
    int &alias = id;
    Queue() : flags(5), level(-2), wide(1) {}
    __attribute__((noinline)) void push(int value) {
        std::lock_guard<std::mutex> guard(lock);
        items.push_back(value); // push
        pushed++;
    }
    __attribute__((noinline)) int size_of(const Queue &other, int times, int &alias, Queue *raw) {
        return static_cast<int>(other.items.size()) * times + alias + (raw == this); // look
    }
};
int Queue::made = 2;
}

static store::Queue queue;
static store::Queue *pointer = &queue;
static std::unique_ptr<store::Queue> owned(new store::Queue);
static std::shared_ptr<store::Queue> shared(new store::Queue);
static std::unique_ptr<store::Queue> nothing;
static thread_local int mine = 4;
static volatile int sink, done;

__attribute__((noinline)) static void visit(int me) {
    mine += me;
    done = mine; // visit
}

int main() {
    std::thread one([] {
        int two = 2;
        visit(1);
        queue.push(7);
        int size = queue.size_of(*pointer, 2, two, owned.get());
        done = size;
    });
    std::thread two([] { visit(2); done = owned->pushed + !shared + !nothing; });
    one.join();
    two.join();
}
