/* Two threads of OpenMP add to a counter without protection. */
#include <assert.h>

int main(void)
{
    volatile int sum = 0;
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; i++)
        sum = sum + 1;
    assert(sum == 2);
    return 0;
}
