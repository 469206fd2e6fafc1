// A signal that ppoll unblocks came before it.
#define _GNU_SOURCE
#include <poll.h>
#define WAIT(mask) ppoll(NULL, 0, NULL, mask)
#include "signal_before_wait.h"
