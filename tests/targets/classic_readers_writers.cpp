// Readers and writers with the standard library: two readers, who begin together when a first edition is there, and a
// writer who brings out two editions of both halves of a text. args: the mistake to plant.
#include "classic.h"
#include <barrier>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <shared_mutex>
#include <thread>

enum { READERS = 2, EDITIONS = 2 };

static std::shared_mutex text, desk;
static std::mutex guard, mine[READERS];
static std::optional<std::condition_variable> printed(std::in_place);
static int editions, half, other_half, readers;

static void await_edition(int number)
{
    std::unique_lock hold(mistake("wait-mutex") ? mine[number] : guard);
    while (editions == 0)
        printed->wait(hold);
}

static void read(int number)
{
    await_edition(number);
    if (!mistake("unlock-not-held") || number == 0)
        text.lock_shared();
    else if (!text.try_lock_shared()) {
        // Reads all the same.
    }
    if (mistake("read-recursion"))
        std::shared_lock again(text);
    if (!mistake("unlock-not-held"))
        assert(half == other_half);
    if (mistake("self-deadlock")) // to correct a misprint
        text.lock();
    {
        std::lock_guard hold(guard);
        readers++;
    }
    text.unlock_shared();
    if (mistake("lock-left-held") && number == 0)
        std::shared_lock(desk).release();
}

static void print_edition()
{
    std::unique_lock hold(guard, std::defer_lock);
    if (mistake("deadlock")) // the readers take these two in reverse order
        hold.lock();
    {
        std::lock_guard write(text);
        half++;
        other_half++;
    }
    if (!mistake("deadlock"))
        hold.lock();
    editions++;
    printed->notify_all();
}

static void prepare()
{
    prefer_writers(text.native_handle());
    if (mistake("uninitialised"))
        memset((void *)&text, 0x5a, sizeof text);
    if (mistake("deadlock"))
        editions = 1;
}

int main(int argc, char **argv)
{
    plant(argc, argv);
    prepare();
    std::barrier begin(READERS + mistake("barrier-count"));
    auto reader = [&](int number) {
        begin.arrive_and_wait();
        read(number);
    };
    std::thread one(reader, 0), two(reader, 1);
    std::thread writer([] {
        for (int i = 0; i < EDITIONS; i++)
            print_edition();
        if (mistake("used-destroyed")) // though it is read from now on
            pthread_rwlock_destroy((pthread_rwlock_t *)text.native_handle());
    });
    if (mistake("object-in-use"))
        printed.reset();
    if (mistake("thread-misuse"))
        pthread_detach(writer.native_handle());
    one.join();
    two.join();
    writer.join();
    return readers == READERS ? 0 : 1;
}
