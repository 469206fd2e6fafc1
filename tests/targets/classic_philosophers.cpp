// Dining philosophers with the standard library: a barrier until all sit, a condition variable for the bell, a shared
// mutex for the menu, a mutex for each fork, taken in ascending order. args: the mistake to plant.
#include "classic.h"
#include <barrier>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <vector>

enum { SEATS = 3 };

static std::mutex guard, napkin;
alignas(std::mutex) static unsigned char table[SEATS][sizeof(std::mutex)];
static std::optional<std::condition_variable> bell(std::in_place);
static std::shared_mutex menu;
static bool served;
static int dish, meals;

static std::mutex &fork(int number)
{
    return *reinterpret_cast<std::mutex *>(table[number]);
}

static void read_menu()
{
    std::shared_lock look(menu);
    if (mistake("read-recursion"))
        std::shared_lock again(menu);
    assert(dish == 0 || dish == 1);
}

static void await_bell()
{
    std::unique_lock hold(guard, std::defer_lock);
    if (!mistake("wait-mutex"))
        hold.lock();
    while (!served)
        bell->wait(hold);
}

static void eat(int seat)
{
    int left = seat, right = (seat + 1) % SEATS;
    std::mutex &first = fork(mistake("deadlock") || left < right ? left : right);
    std::mutex &second = mistake("self-deadlock") ? first : fork(mistake("deadlock") || left < right ? right : left);
    first.lock();
    if (!mistake("unlock-not-held"))
        second.lock();
    else if (!second.try_lock()) {
        // Eats all the same.
    }
    {
        std::lock_guard hold(guard);
        meals++;
    }
    second.unlock();
    first.unlock();
    if (mistake("used-destroyed")) // cleared away before the neighbour has eaten
        pthread_mutex_destroy(first.native_handle());
}

int main(int argc, char **argv)
{
    plant(argc, argv);
    prefer_writers(menu.native_handle());
    memset(table, 0x5a, sizeof table);
    for (int i = 0; i < SEATS - mistake("uninitialised"); i++)
        new (table[i]) std::mutex;
    std::barrier seated(SEATS + mistake("barrier-count"));
    std::vector<std::thread> philosophers;
    for (int seat = 0; seat < SEATS; seat++)
        philosophers.emplace_back([seat, &seated] {
            seated.arrive_and_wait();
            read_menu();
            await_bell();
            eat(seat);
            if (mistake("lock-left-held") && seat == 0)
                std::unique_lock(napkin).release();
        });
    {
        std::lock_guard write(menu);
        dish = 1;
    }
    if (mistake("object-in-use"))
        bell.reset();
    else {
        std::lock_guard hold(guard);
        served = true;
        bell->notify_all();
    }
    if (mistake("thread-misuse"))
        pthread_detach(philosophers[1].native_handle());
    for (auto &philosopher : philosophers)
        philosopher.join();
    return meals == SEATS ? 0 : 1;
}
