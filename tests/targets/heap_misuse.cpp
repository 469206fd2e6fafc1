// One thread deletes what another still uses. Only some schedules make the mistake.
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

struct Account {
    long balance = 0;
    long *history = &balance;
    long months[4] = {};
};

static std::mutex guard;
static Account *account;
static volatile int month = 4;

int main(int argc, char **argv)
{
    std::string mistake = argc > 1 ? argv[1] : "write";
    account = new Account;
    std::thread user([&] {
        Account *mine;
        {
            std::lock_guard<std::mutex> locked(guard);
            mine = account;
        }
        if (!mine)
            return;
        std::lock_guard<std::mutex> locked(guard);
        if (mistake == "write")
            mine->balance = 1;
        else if (mistake == "read")
            *mine->history = 1;
        else if (mistake == "twice")
            delete mine;
        else if (mistake == "overflow" && !account)
            mine->months[month] = 1;
    });
    std::thread owner([&] {
        Account *old;
        {
            std::lock_guard<std::mutex> locked(guard);
            old = account;
            account = nullptr;
        }
        if (mistake != "overflow")
            delete old;
    });
    user.join();
    owner.join();
    return 0;
}
