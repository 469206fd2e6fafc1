/* System V semaphores and message queues: what a call returns depends on the order of calls. */
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

struct message {
    long kind;
    char number;
};

static int id;
static int got[3];

static int change(int by, int flags)
{
    struct sembuf one = {0, (short)by, (short)flags};
    return semop(id, &one, 1);
}

static int send_number(int number)
{
    struct message one = {1, (char)number};
    return msgsnd(id, &one, sizeof one.number, 0);
}

static int receive_number(int flags)
{
    struct message one = {0, 0};
    return msgrcv(id, &one, sizeof one.number, 0, flags) < 0 ? 0 : one.number;
}

static void *try_to_take(void *at) { return got[(long)at] = change(-1, IPC_NOWAIT) == 0, NULL; }
static void *take(void *at) { return got[(long)at] = change(-1, 0) == 0, NULL; }
static void *try_to_receive(void *at) { return got[(long)at] = receive_number(IPC_NOWAIT), NULL; }
static void *receive(void *at) { return got[(long)at] = receive_number(0), NULL; }

static void *receive_posix(void *at)
{
    char text[8];
    got[(long)at] = mq_receive(id, text, sizeof text, NULL) > 0;
    return NULL;
}

/* The permissions, the second argument, tell the objects of one test from all others. */
static int permissions;
static void make_set(void) { id = semget(IPC_PRIVATE, 1, permissions); }
static void make_queue(void) { id = msgget(IPC_PRIVATE, permissions); }

int main(int count, char **arguments)
{
    pthread_t first, second;
    if (count != 3)
        return 2;
    const char *wanted = arguments[1];
    permissions = (int)strtol(arguments[2], NULL, 8);
    if (!strcmp(wanted, "taken too early")) {
        make_set();
        pthread_create(&first, NULL, try_to_take, (void *)1);
        change(1, 0);
        pthread_join(first, NULL);
        if (!got[1])
            abort();
    } else if (!strcmp(wanted, "taken by another")) {
        make_set();
        pthread_create(&first, NULL, take, (void *)1);
        pthread_create(&second, NULL, try_to_take, (void *)2);
        change(1, 0);
        pthread_join(second, NULL);
        if (got[2])
            abort();
        pthread_join(first, NULL);
    } else if (!strcmp(wanted, "changed by number")) {
        make_set();
        pthread_create(&first, NULL, try_to_take, (void *)1);
        semctl(id, 0, SETVAL, 1);
        pthread_join(first, NULL);
        if (!got[1])
            abort();
    } else if (!strcmp(wanted, "received too early")) {
        make_queue();
        pthread_create(&first, NULL, try_to_receive, (void *)1);
        send_number(1);
        pthread_join(first, NULL);
        if (!got[1])
            abort();
    } else if (!strcmp(wanted, "received in another order")) {
        make_queue();
        pthread_create(&first, NULL, receive, (void *)1);
        pthread_create(&second, NULL, receive, (void *)2);
        send_number(1);
        send_number(2);
        pthread_join(first, NULL);
        pthread_join(second, NULL);
        if (got[1] == 2)
            abort();
    } else if (!strcmp(wanted, "posix queue, too early")) {
        struct mq_attr size = {.mq_maxmsg = 2, .mq_msgsize = 8};
        id = mq_open("/heddle-system-v", O_CREAT | O_RDWR | O_NONBLOCK, 0600, &size);
        mq_unlink("/heddle-system-v");
        pthread_create(&first, NULL, receive_posix, (void *)1);
        mq_send(id, "x", 1, 0);
        pthread_join(first, NULL);
        if (!got[1])
            abort();
    } else if (!strcmp(wanted, "all received")) {
        make_queue();
        pthread_create(&first, NULL, receive, (void *)1);
        pthread_create(&second, NULL, receive, (void *)2);
        send_number(1);
        send_number(2);
        pthread_join(first, NULL);
        pthread_join(second, NULL);
        if (got[1] + got[2] != 3)
            abort();
    } else if (!strcmp(wanted, "all taken")) {
        make_set();
        pthread_create(&first, NULL, take, (void *)1);
        pthread_create(&second, NULL, take, (void *)2);
        change(2, 0);
        pthread_join(first, NULL);
        pthread_join(second, NULL);
        if (change(-1, IPC_NOWAIT) == 0)
            abort();
    } else if (!strcmp(wanted, "with a key")) {
        id = msgget(0x6865, IPC_CREAT | permissions);
        pthread_create(&first, NULL, try_to_receive, (void *)1);
        pthread_join(first, NULL);
        msgctl(id, IPC_RMID, NULL);
    } else {
        return 2;
    }
    return 0;
}
