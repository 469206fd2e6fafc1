// main ends by pthread_exit: its objects are destroyed, another thread
// continues, and the objects of the process are destroyed when that thread ends.
#include <iostream>
#include <pthread.h>
#include <semaphore.h>

struct Noisy {
    const char *name;
    explicit Noisy(const char *name) : name(name) {}
    ~Noisy() { std::cout << name << " destroyed" << std::endl; }
};

static Noisy of_the_process("static");
static sem_t go;

struct Release {
    // The last object of main lets the other thread continue, so that the order is always the same.
    ~Release() { sem_post(&go); }
};

static void *work(void *)
{
    Noisy object("the other thread's");
    sem_wait(&go);
    return nullptr;
}

int main()
{
    Release release;
    Noisy object("main's");
    pthread_t thread;
    sem_init(&go, 0, 0);
    pthread_create(&thread, nullptr, work, nullptr);
    pthread_exit(nullptr);
}
