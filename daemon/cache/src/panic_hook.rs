//! Panics of the cache's own threads go to the log and nowhere else: they end nothing.

use std::{panic, sync::Once, thread};

use tracing::error;

static PANIC_HOOK_INSTALLED: Once = Once::new();

/// For all threads whose names begin so, from now on.
pub(super) fn hush(names: &'static [&'static str]) {
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
