// A shared list whose owner is replaced in two critical sections: in some schedules one is lost.
#include <mutex>
#include <string>
#include <thread>

static std::mutex guard;
static std::string *owned;

static void replace(const char *text)
{
    auto *mine = new std::string(text);
    std::string *old;
    {
        std::lock_guard<std::mutex> lock(guard);
        old = owned;
    }
    {
        std::lock_guard<std::mutex> lock(guard);
        owned = mine;
    }
    delete old;
}

int main()
{
    std::thread one(replace, "a text too long to be kept inside of the object itself");
    std::thread two(replace, "another such text, which needs separate memory as well");
    one.join();
    two.join();
    delete owned;
}
