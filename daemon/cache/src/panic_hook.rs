//! Sends panics of the cache's own threads to the log instead of standard error. These panics are caught and stop
//! nothing else.

use std::{panic, sync::Once, thread};

use tracing::error;

static PANIC_HOOK_INSTALLED: Once = Once::new();

/// Installs the hook for all threads whose names start with one of `names`.
pub(super) fn log_panics_of(names: &'static [&'static str]) {
    PANIC_HOOK_INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            let thread = thread::current();
            let name = thread.name().unwrap_or_default();
            if names.iter().any(|ours| name.starts_with(ours)) {
                error!("in {name}: {panicked}");
            } else {
                before(panicked);
            }
        }));
    });
}
