/* Gone before main begins. */
#include <unistd.h>

__attribute__((constructor)) static void leave(void)
{
    _exit(7);
}

int main(void)
{
    return 0;
}
