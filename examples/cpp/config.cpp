// A configuration that the first thread to ask for it loads.
//
// The pointer is published before the object behind it is filled in, so a second thread may read
// a configuration that is still empty. `cmake -DFIXED=ON` builds the corrected version, which
// leaves the initialisation to a local static.

#include <cassert>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

struct Config {
    std::string host;
    int port = 0;

    void load()
    {
        host = "localhost";
        port = 8080;
    }
};

#ifdef FIXED

static const Config &config()
{
    static const Config loaded = [] {
        Config config;
        config.load();
        return config;
    }();
    return loaded;
}

#else

static std::mutex config_lock;
static Config *shared_config;

static const Config &config()
{
    if (shared_config == nullptr) {
        std::lock_guard<std::mutex> guard(config_lock);
        if (shared_config == nullptr) {
            shared_config = new Config;
            shared_config->load();
        }
    }
    return *shared_config;
}

#endif

static void serve()
{
    assert(config().port == 8080);
}

int main()
{
    std::thread first(serve);
    std::thread second(serve);
    first.join();
    second.join();
    std::puts("both threads were served");
    return 0;
}
