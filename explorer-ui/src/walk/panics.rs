//! Panics of background threads: they become error messages of the request that they end.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// The message of the last panic of a thread whose panics are caught.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Runs `work`. A panic is returned as an error; its message is there if the panic hook calls
/// [`keep`].
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let said = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        let said = said.unwrap_or_default().replace('\n', " ");
        format!("this broke the explorer's engine, which is a mistake in Heddle: {said}")
    })
}

/// Keeps the message of a panic for [`catch_panic`] instead of printing it.
pub(crate) fn keep(panic: &PanicHookInfo<'_>) {
    *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
}

#[cfg(test)]
mod tests {
    use super::catch_panic;

    #[test]
    fn a_panic_is_an_error_that_names_its_origin() {
        assert_eq!(catch_panic(|| 3), Ok(3));
        let why = catch_panic(|| -> u32 { panic!("an index") }).expect_err("it panics");
        let begin = "this broke the explorer's engine, which is a mistake in Heddle: ";
        assert!(why.starts_with(begin), "{why}");
    }
}
