// A local static object that two threads want at once: the compiler's guard lets one of them make it, and hands it
// to the other.
#include <cassert>
#include <thread>

struct Table {
    int size;
    Table() : size(7) {}
};

static int look()
{
    static Table table;
    return table.size;
}

int main()
{
    int seen[2];
    std::thread a([&] { seen[0] = look(); });
    std::thread b([&] { seen[1] = look(); });
    a.join();
    b.join();
    assert(seen[0] == 7 && seen[1] == 7);
}
