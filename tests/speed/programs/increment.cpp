// tests/targets/increment.c with the standard library's threads and mutex.
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex guard;
static int counter;

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++)
        workers.emplace_back([rounds] {
            for (int round = 0; round < rounds; round++) {
                int seen;
                {
                    std::lock_guard<std::mutex> locked(guard);
                    seen = counter;
                }
                std::lock_guard<std::mutex> locked(guard);
                counter = seen + 1;
            }
        });
    for (auto &worker : workers)
        worker.join();
    return counter == threads * rounds ? 0 : 1;
}
