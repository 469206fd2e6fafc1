// A signal that sigsuspend unblocks came before it.
#define WAIT(mask) sigsuspend(mask)
#include "signal_before_wait.h"
