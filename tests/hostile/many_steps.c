/* More memory accesses than a search can use as scheduling points. */
static volatile int sum;

int main(void)
{
    for (int i = 0; i < 10000000; i++)
        sum++;
    return 0;
}
