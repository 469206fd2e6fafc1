/* A thread requests a byte from a server, through the socket `server` in the
 * current directory, and waits for the answer; no other task is enabled. */
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void *work(void *unused)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, "server");
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte = 'a';
    assert(connect(server, (struct sockaddr *)&address, sizeof address) == 0);
    assert(write(server, &byte, 1) == 1);
    assert(read(server, &byte, 1) == 1 && byte == 'b');
    close(server);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
