/* More accesses to memory than anybody wants to choose between. */
static volatile int sum;

int main(void)
{
    for (int i = 0; i < 10000000; i++)
        sum++;
    return 0;
}
