/* Each thread looks for a free block for its inode; there is one thread more than there are locks. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

enum { INODES = 32, BLOCKS = 26, THREADS = 27 };

static pthread_mutex_t inode_lock[INODES], block_lock[BLOCKS];
static int inode[INODES], busy[BLOCKS];

static void *allocate(void *argument)
{
    int thread = (int)(intptr_t)argument;
    int own = thread % INODES;
    assert(thread < BLOCKS);
    pthread_mutex_lock(&inode_lock[own]);
    if (!inode[own]) {
        for (int block = thread * 2 % BLOCKS;; block = (block + 1) % BLOCKS) {
            pthread_mutex_lock(&block_lock[block]);
            int free = !busy[block];
            if (free) {
                busy[block] = 1;
                inode[own] = block + 1;
            }
            pthread_mutex_unlock(&block_lock[block]);
            if (free)
                break;
        }
    }
    pthread_mutex_unlock(&inode_lock[own]);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < INODES; i++)
        pthread_mutex_init(&inode_lock[i], NULL);
    for (int i = 0; i < BLOCKS; i++)
        pthread_mutex_init(&block_lock[i], NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, allocate, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
