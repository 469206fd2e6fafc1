// Two threads throw one exception object again and change it.
#include <cstdlib>
#include <exception>
#include <thread>
struct Error {
    int count = 0;
};
int main() {
    auto error = std::make_exception_ptr(Error{});
    auto change = [&] {
        try {
            std::rethrow_exception(error);
        } catch (Error &found) {
            found.count++;
        }
    };
    std::thread other(change);
    change();
    other.join();
    try {
        std::rethrow_exception(error);
    } catch (Error &found) {
        if (found.count != 2) std::abort();
    }
    return 0;
}
