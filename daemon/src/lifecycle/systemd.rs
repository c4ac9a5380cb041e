//! systemd's protocol: the descriptors that it passes, and the notifications that it receives.

use std::{
    fs,
    os::fd::{FromRawFd, OwnedFd},
    sync::mpsc::{SyncSender, sync_channel},
    thread,
    time::Duration,
};

use sd_notify::NotifyState;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::{
    passed_socket::{PassedSocket, PassedSocketError},
    service_manager::ServiceState,
};

/// How long systemd may take to read the pid of the main process.
const MAIN_PID_NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum number of notifications that systemd has not read yet; further ones are dropped.
const MAX_UNREAD_NOTIFICATIONS: usize = 64;

/// The listening socket, if systemd passed one. Other passed descriptors are closed.
pub(super) fn passed_listener() -> Result<Option<PassedSocket>, PassedSocketError> {
    let numbers = sd_notify::listen_fds().map_err(PassedSocketError::Variables)?;
    let mut refused = None;
    let mut found = None;
    for socket in numbers.map(owned_fd) {
        match PassedSocket::new(socket) {
            Ok(passed) if found.is_none() => found = Some(passed),
            Ok(_) => {}
            Err(error) => refused = Some(error),
        }
    }
    match (found, refused) {
        (None, Some(error)) => Err(error),
        (found, _) => Ok(found),
    }
}

#[expect(unsafe_code, reason = "a descriptor that is passed is only a number")]
fn owned_fd(number: i32) -> OwnedFd {
    // SAFETY: systemd has opened it for this process, which LISTEN_PID names, and this is called once, before anything
    // else could have taken or closed it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

pub(super) fn watchdog_timeout() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero())
}

/// The unit of this process, by its control group.
pub(super) fn current_unit() -> Option<String> {
    unit_of_cgroups(&fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn unit_of_cgroups(groups: &str) -> Option<String> {
    let mut last = groups.lines().filter_map(|group| group.rsplit('/').next());
    last.find(|name| name.ends_with(".service"))
        .map(str::to_owned)
}

/// Starts a thread that sends each text to systemd: its socket buffers only a few, and then blocks until systemd has
/// read them.
pub(super) fn start_notifier() -> Option<SyncSender<String>> {
    let (sender, texts) = sync_channel::<String>(MAX_UNREAD_NOTIFICATIONS);
    let speak = move || {
        for text in texts {
            // If systemd does not receive them, its watchdog ends this daemon.
            if let Err(error) = sd_notify::notify(&[NotifyState::Custom(&text)]) {
                debug!(%error, "cannot notify systemd");
            }
        }
    };
    let thread = thread::Builder::new().name("mux-notify".into());
    thread.spawn(speak).is_ok().then_some(sender)
}

pub(super) fn notification_text(word: ServiceState, words: &str) -> String {
    let status = NotifyState::Status(words);
    match word {
        ServiceState::Nothing => status.to_string(),
        ServiceState::Ready => format!("{}\n{status}", NotifyState::Ready),
        ServiceState::Alive => format!("{}\n{status}", NotifyState::Watchdog),
        ServiceState::Stopping => format!("{}\n{status}", NotifyState::Stopping),
    }
}

/// Tells systemd the unit's new main process: it accepts notifications from that process only.
pub(super) async fn set_main_pid(pid: u32) {
    let say = move || sd_notify::notify(&[NotifyState::MainPid(pid)]);
    match timeout(MAIN_PID_NOTIFY_TIMEOUT, tokio::task::spawn_blocking(say)).await {
        Ok(Ok(Ok(()))) => {}
        // systemd considers the unit ended with this process, and starts it again; the successor then retires.
        other => warn!(?other, "cannot tell systemd which process serves"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_last_part_of_the_control_group() {
        let unified = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/muxd.service\n";
        assert_eq!(unit_of_cgroups(unified).as_deref(), Some("muxd.service"));
        let both = "4:memory:/x\n1:name=systemd:/user.slice/app.slice/muxd.service\n0::/\n";
        assert_eq!(unit_of_cgroups(both).as_deref(), Some("muxd.service"));
        let session = "0::/user.slice/user-1000.slice/session-2.scope\n";
        assert_eq!(unit_of_cgroups(session), None);
    }
}
