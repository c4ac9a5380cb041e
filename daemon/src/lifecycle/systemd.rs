//! systemd's own protocol: what it passes to a process, and what it wants to hear.

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

/// How long it may take to hear who serves.
const MAIN_PID_NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);
/// What it did not read yet. More is lost.
const MAX_UNREAD_NOTIFICATIONS: usize = 64;

/// The listening socket, if it passed one. What else it passed is closed.
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
    // SAFETY: systemd has opened it for this process, whose pid stands beside it, and this is called once,
    // before anything else could have taken or closed it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

pub(super) fn watchdog_timeout() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero())
}

/// The unit in which this process stands, by its control group.
pub(super) fn current_unit() -> Option<String> {
    unit_of_cgroups(&fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn unit_of_cgroups(groups: &str) -> Option<String> {
    let mut last = groups.lines().filter_map(|group| group.rsplit('/').next());
    last.find(|name| name.ends_with(".service"))
        .map(str::to_owned)
}

/// Says each text to systemd, on a thread of its own: its socket takes a few, and then one waits until it has
/// read them.
pub(super) fn start_notifier() -> Option<SyncSender<String>> {
    let (sender, texts) = sync_channel::<String>(MAX_UNREAD_NOTIFICATIONS);
    let speak = move || {
        for text in texts {
            // One that does not hear us ends us by its own clock.
            if let Err(error) = sd_notify::notify(&[NotifyState::Custom(&text)]) {
                debug!(%error, "systemd does not hear");
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

/// The unit's main process is another one from here on: only that one is heard.
pub(super) async fn set_main_pid(pid: u32) {
    let say = move || sd_notify::notify(&[NotifyState::MainPid(pid)]);
    match timeout(MAIN_PID_NOTIFY_TIMEOUT, tokio::task::spawn_blocking(say)).await {
        Ok(Ok(Ok(()))) => {}
        // It thinks that the unit ends with us, and starts it again: the next one then makes room.
        other => warn!(?other, "systemd was not told which process serves"),
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
