// Two threads set two elements of a vector of bool: one can be lost.
#include <cstdlib>
#include <thread>
#include <vector>
int main() {
    std::vector<bool> bits(2);
    std::thread other([&] { bits[0] = true; });
    bits[1] = true;
    other.join();
    if (!bits[0] || !bits[1]) std::abort();
    return 0;
}
