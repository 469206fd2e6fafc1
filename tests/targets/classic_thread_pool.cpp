// A pool of two threads, with the standard library, which begin together, take jobs from a list until the pool is
// closed, and look at settings for each. args: the mistake to plant.
#include "classic.h"
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <queue>
#include <shared_mutex>
#include <thread>
#include <vector>

enum { WORKERS = 2, JOBS = 2 };

static std::mutex tally, shelf;
static std::shared_mutex settings;
static int setting, done;

class Pool {
    std::mutex guard;
    std::optional<std::condition_variable> changed{std::in_place};
    std::queue<std::function<void()>> jobs;
    bool closed = false;
    std::barrier<> begin{WORKERS + mistake("barrier-count")};
    std::vector<std::thread> workers;

    void work()
    {
        begin.arrive_and_wait();
        std::unique_lock hold(guard);
        for (;;) {
            while (jobs.empty() && !closed) {
                std::unique_lock other(tally, std::defer_lock);
                changed->wait(mistake("wait-mutex") ? other : hold);
            }
            if (jobs.empty())
                break;
            auto job = std::move(jobs.front());
            jobs.pop();
            if (!mistake("self-deadlock"))
                hold.unlock();
            job();
            if (!hold.owns_lock())
                hold.lock();
        }
        if (mistake("unlock-not-held"))
            guard.unlock();
        hold.unlock();
        if (mistake("used-destroyed")) // before the other worker has left
            pthread_rwlock_destroy((pthread_rwlock_t *)settings.native_handle());
        if (mistake("lock-left-held") && shelf.try_lock()) {
            // And keeps it.
        }
    }

public:
    Pool()
    {
        if (mistake("uninitialised"))
            memset((void *)&guard, 0x5a, sizeof guard);
        for (int i = 0; i < WORKERS; i++)
            workers.emplace_back([this] { work(); });
    }

    void submit(std::function<void()> job)
    {
        std::lock_guard hold(guard);
        jobs.push(std::move(job));
        changed->notify_one();
    }

    // One more job is done.
    void count()
    {
        std::unique_lock other(guard, std::defer_lock);
        std::lock_guard hold(tally);
        if (mistake("deadlock") || mistake("self-deadlock"))
            other.lock();
        done++;
    }

    ~Pool()
    {
        {
            std::lock_guard hold(guard);
            std::unique_lock other(tally, std::defer_lock);
            if (mistake("deadlock")) // count() takes these two in reverse order
                other.lock();
            closed = true;
            changed->notify_all();
        }
        if (mistake("thread-misuse"))
            pthread_join(workers[0].native_handle(), NULL);
        for (auto &worker : workers)
            worker.join();
    }

    // While its workers wait.
    void forget()
    {
        changed.reset();
    }
};

static void look_at_settings()
{
    std::shared_lock look(settings);
    if (mistake("read-recursion"))
        std::shared_lock again(settings);
}

int main(int argc, char **argv)
{
    plant(argc, argv);
    prefer_writers(settings.native_handle());
    {
        Pool pool;
        for (int i = 0; i < JOBS; i++)
            pool.submit([&pool] {
                look_at_settings();
                pool.count();
            });
        if (mistake("object-in-use"))
            pool.forget();
        std::lock_guard write(settings);
        setting++;
    }
    return done == JOBS ? 0 : 1;
}
