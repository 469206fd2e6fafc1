// Tests that Criterion runs in separate processes.
#include <criterion/criterion.h>

Test(counter, plain) { cr_assert_eq(1 + 1, 2); }
Test(counter, off, .disabled = true) { cr_assert(0); }
