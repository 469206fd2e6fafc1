// A recursion without end, in a thread of the standard library.
#include <thread>

static volatile int depth;

__attribute__((noinline)) static int fall(volatile char *above)
{
    volatile char here[256];
    here[0] = (char)(above[0] + 1);
    // Never true, but the compiler cannot know.
    if (depth < 0)
        return 0;
    depth = depth + 1;
    return fall(here) + here[0];
}

int main()
{
    std::thread([] {
        volatile char start[1] = {0};
        depth = fall(start);
    }).join();
}
