/* A library that a user preloads. */
int preloaded(void)
{
    return 42;
}
