// A thread polls a flag under a shared lock until main has set it.
#include <mutex>
#include <thread>
#include <shared_mutex>
static std::shared_mutex m; static bool done_;
int main() {
  std::thread a([]{ for(;;){ std::shared_lock l(m); if (done_) return; } });
  { std::unique_lock l(m); done_ = true; }
  a.join();
}
