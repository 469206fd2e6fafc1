// pthread_exit unwinds: destructors of the objects on the stack run innermost first, a catch-all that passes it on
// sees it go by, and thread-locals are destroyed last.
#include <cxxabi.h>
#include <iostream>
#include <pthread.h>

struct Noisy {
    const char *name;
    explicit Noisy(const char *name) : name(name) {}
    ~Noisy() { std::cout << name << " destroyed" << std::endl; }
};

static thread_local Noisy thread_local_object("thread-local");

static void leave()
{
    Noisy object("inner");
    pthread_exit(const_cast<char *>("result"));
}

static void pass_through()
{
    Noisy object("outer");
    leave();
}

static void *work(void *)
{
    std::cout << "made " << thread_local_object.name << std::endl;
    try {
        pass_through();
    } catch (abi::__forced_unwind &) {
        std::cout << "passing by" << std::endl;
        throw;
    }
    return nullptr;
}

int main()
{
    pthread_t thread;
    void *result = nullptr;
    pthread_create(&thread, nullptr, work, nullptr);
    pthread_join(thread, &result);
    std::cout << "joined: " << static_cast<char *>(result) << std::endl;
}
