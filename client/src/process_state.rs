//! Tells whether a process is stopped by a signal or a debugger, if the system can tell.

#[cfg(target_os = "macos")]
mod libproc;
#[cfg(not(any(target_os = "macos", windows)))]
mod procfs;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "macos")]
pub(crate) use self::libproc::is_process_stopped;
#[cfg(not(any(target_os = "macos", windows)))]
pub(crate) use self::procfs::is_process_stopped;
#[cfg(windows)]
pub(crate) use self::windows::is_process_stopped;

#[cfg(all(test, any(target_os = "linux", target_os = "macos")))]
mod tests {
    use std::process::{Command, Stdio};

    use nix::{
        sys::{
            signal::{Signal, kill},
            wait::{WaitPidFlag, waitpid},
        },
        unistd::Pid,
    };

    use super::*;

    #[test]
    fn stopped_process_is_recognized() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(!is_process_stopped(child.id()));
        let pid = Pid::from_raw(child.id().cast_signed());
        kill(pid, Signal::SIGSTOP).unwrap();
        waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert!(is_process_stopped(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_process_stopped(child.id()));
    }
}
