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
    passed::{Passed, PassedError},
    service::Word,
};

/// How long it may take to hear who serves.
const HEARING: Duration = Duration::from_secs(1);
/// What it did not read yet. More is lost.
const UNREAD: usize = 64;

/// The listening socket, if it passed one. What else it passed is closed.
pub(super) fn passed() -> Result<Option<Passed>, PassedError> {
    let numbers = sd_notify::listen_fds().map_err(PassedError::Variables)?;
    let mut refused = None;
    let mut found = None;
    for socket in numbers.map(own) {
        match Passed::new(socket) {
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
fn own(number: i32) -> OwnedFd {
    // SAFETY: systemd has opened it for this process, whose pid stands beside it, and this is called once,
    // before anything else could have taken or closed it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

pub(super) fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero())
}

/// The unit in which this process stands, by its control group.
pub(super) fn unit() -> Option<String> {
    unit_in(&fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn unit_in(groups: &str) -> Option<String> {
    let mut last = groups.lines().filter_map(|group| group.rsplit('/').next());
    last.find(|name| name.ends_with(".service"))
        .map(str::to_owned)
}

/// Says each text to systemd, on a thread of its own: its socket takes a few, and then one waits until it has
/// read them.
pub(super) fn voice() -> Option<SyncSender<String>> {
    let (sender, texts) = sync_channel::<String>(UNREAD);
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

pub(super) fn text(word: Word, words: &str) -> String {
    let status = NotifyState::Status(words);
    match word {
        Word::Nothing => status.to_string(),
        Word::Ready => format!("{}\n{status}", NotifyState::Ready),
        Word::Alive => format!("{}\n{status}", NotifyState::Watchdog),
        Word::Stopping => format!("{}\n{status}", NotifyState::Stopping),
    }
}

/// The unit's main process is another one from here on: only that one is heard.
pub(super) async fn succeeded_by(pid: u32) {
    let say = move || sd_notify::notify(&[NotifyState::MainPid(pid)]);
    match timeout(HEARING, tokio::task::spawn_blocking(say)).await {
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
        assert_eq!(unit_in(unified).as_deref(), Some("muxd.service"));
        let both = "4:memory:/x\n1:name=systemd:/user.slice/app.slice/muxd.service\n0::/\n";
        assert_eq!(unit_in(both).as_deref(), Some("muxd.service"));
        let session = "0::/user.slice/user-1000.slice/session-2.scope\n";
        assert_eq!(unit_in(session), None);
    }
}
