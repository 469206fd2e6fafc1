// A thread polls a flag under a std::mutex until main has set it.
#include <mutex>
#include <thread>
static std::mutex q; static int n;
int main() {
  std::thread b([]{ for(;;){ std::lock_guard l(q); if (n) return; } });
  { std::lock_guard l(q); n = 1; }
  b.join();
}
