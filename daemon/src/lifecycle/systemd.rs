//! Linux's service manager. systemd's protocol: the descriptors that it passes, and the notifications that it receives.

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
    service_manager::{DetectedService, ServiceState, StartOrigin},
};

/// How long systemd may take to read the pid of the main process.
const MAIN_PID_NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum number of notifications that systemd has not read yet. Further ones are dropped.
const MAX_UNREAD_NOTIFICATIONS: usize = 64;

/// systemd, if it started this process.
pub(super) fn detect(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<DetectedService>, PassedSocketError> {
    let me = std::process::id().to_string();
    let is_me = |name: &str| variable(name).is_some_and(|pid| pid == me);
    if !is_me("SYSTEMD_EXEC_PID") && !is_me("LISTEN_PID") {
        return Ok(None);
    }
    Ok(Some(DetectedService {
        starter: StartOrigin::Systemd,
        name: current_unit(),
        passed: passed_listener()?,
        watchdog: watchdog_timeout(),
        notifier: variable("NOTIFY_SOCKET").and_then(|_| Notifier::start()),
    }))
}

/// There is no launchd here.
#[expect(clippy::unnecessary_wraps, reason = "as on macOS")]
pub(super) fn launchd_listener() -> Result<Option<PassedSocket>, PassedSocketError> {
    Ok(None)
}

/// The listening socket, if systemd passed one. Other passed descriptors are closed.
fn passed_listener() -> Result<Option<PassedSocket>, PassedSocketError> {
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
    // SAFETY: systemd has opened the descriptor for this process, which LISTEN_PID names, and this function is called
    // once, before anything else could have taken or closed it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

fn watchdog_timeout() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero())
}

/// The unit of this process, by its control group.
fn current_unit() -> Option<String> {
    unit_of_cgroups(&fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn unit_of_cgroups(groups: &str) -> Option<String> {
    let mut last = groups.lines().filter_map(|group| group.rsplit('/').next());
    last.find(|name| name.ends_with(".service"))
        .map(str::to_owned)
}

/// The queue to a thread that sends each message to systemd. The socket buffers only a few messages, and then blocks
/// until systemd has read them.
#[derive(Debug)]
pub(super) struct Notifier(SyncSender<String>);

impl Notifier {
    pub(super) fn start() -> Option<Self> {
        let (sender, texts) = sync_channel::<String>(MAX_UNREAD_NOTIFICATIONS);
        let speak = move || {
            for text in texts {
                // If systemd does not receive the notifications, its watchdog ends this daemon.
                if let Err(error) = sd_notify::notify(&[NotifyState::Custom(&text)]) {
                    debug!(%error, "cannot notify systemd");
                }
            }
        };
        let thread = thread::Builder::new().name("mux-notify".into());
        thread.spawn(speak).is_ok().then_some(Self(sender))
    }

    /// Does not wait: if the queue is full, the message is dropped.
    pub(super) fn send(&self, word: ServiceState, words: &str) {
        drop(self.0.try_send(notification_text(word, words)));
    }

    /// Tells systemd the unit's new main process: systemd accepts notifications from that process only.
    pub(super) async fn set_main_pid(&self, pid: u32) {
        let say = move || sd_notify::notify(&[NotifyState::MainPid(pid)]);
        match timeout(MAIN_PID_NOTIFY_TIMEOUT, tokio::task::spawn_blocking(say)).await {
            Ok(Ok(Ok(()))) => {}
            // systemd considers the unit ended with this process, and starts it again. The successor then retires.
            other => warn!(?other, "cannot tell systemd which process serves"),
        }
    }
}

fn notification_text(word: ServiceState, words: &str) -> String {
    let status = NotifyState::Status(words);
    match word {
        ServiceState::Nothing => status.to_string(),
        ServiceState::Ready => format!("{}\n{status}", NotifyState::Ready),
        ServiceState::Alive => format!("{}\n{status}", NotifyState::Watchdog),
        ServiceState::Stopping => format!("{}\n{status}", NotifyState::Stopping),
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
