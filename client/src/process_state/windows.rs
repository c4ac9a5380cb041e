//! Windows stops single threads, and no process is known to be stopped.

pub(crate) fn is_process_stopped(_pid: u32) -> bool {
    false
}
