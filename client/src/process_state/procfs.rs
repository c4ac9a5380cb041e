//! The state that `/proc` shows. Without `/proc`, no process is known to be stopped.

pub(crate) fn is_process_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The process name before the state may contain any characters.
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    state.starts_with(['T', 't'])
}
