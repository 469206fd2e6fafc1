/* Wants 32 MB, and says by its status whether it got them. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *block = malloc(32 << 20);
    if (block == NULL)
        return 1;
    memset(block, 1, 32 << 20);
    free(block);
    return 0;
}
