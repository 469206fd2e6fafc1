#include "two_threads.h"
#include <aio.h>

static char buffer[8];
static struct aiocb request = {.aio_buf = buffer, .aio_nbytes = 4};

int main(void) {
    request.aio_fildes = memfd_create("file", 0);
    assert(write(request.aio_fildes, "text", 4) == 4);
    assert(aio_read(&request) == 0);
    assert(buffer[0] == 0);
}
