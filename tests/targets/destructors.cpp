// When and where things are destroyed: thread-locals of a thread at its end, on that thread; those of main before
// statics; statics in reverse order of construction, under a lock, with a thread that still waits.
#include <cassert>
#include <iostream>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <thread>

static std::mutex guard;
static sem_t never;

class Noisy {
    std::string name;
    std::thread::id maker = std::this_thread::get_id();

public:
    explicit Noisy(std::string name) : name(std::move(name)) {}
    ~Noisy()
    {
        assert(maker == std::this_thread::get_id());
        std::lock_guard<std::mutex> lock(guard);
        std::cout << name << std::endl;
    }
};

static Noisy first("static one");

static Noisy &local(const char *whose)
{
    static thread_local Noisy object(std::string("thread-local of ") + whose);
    return object;
}

static Noisy &late()
{
    static Noisy object("static made late");
    return object;
}

int main()
{
    sem_init(&never, 0, 0);
    local("main");
    std::thread([] { local("a thread"); }).join();
    std::thread([] { sem_wait(&never); }).detach();
    late();
    std::cout << "main returns" << std::endl;
}
