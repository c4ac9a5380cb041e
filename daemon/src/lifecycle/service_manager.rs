//! The service manager above this daemon, if one started it: systemd, or launchd.
//!
//! Invariant: its variables count only where they are meant for this very process. A client that lives in
//! a unit of its own hands its environment down.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc::SyncSender},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::passed_socket::{PassedSocket, PassedSocketError};
#[cfg(target_os = "linux")]
use super::systemd;

/// What launchd calls the agent that `mux service install` writes, and what others begin with.
const LAUNCHD_LABEL: &str = "muxd";

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StartOrigin {
    Client,
    Hand,
    Systemd,
    Launchd,
}

/// Cheap to clone; every clone is the same.
#[derive(Clone, Debug)]
pub struct ServiceManager(Arc<ServiceManagerInner>);

#[derive(Debug)]
struct ServiceManagerInner {
    starter: StartOrigin,
    name: Option<String>,
    passed: Option<PassedSocket>,
    watchdog: Option<Duration>,
    /// Somebody hears what we say. Nothing waits for him.
    heard: Option<SyncSender<String>>,
    /// The last words, which are not said twice.
    said: Mutex<String>,
}

/// What a daemon that takes over from this one has to know of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct InheritedService {
    starter: StartOrigin,
    name: Option<String>,
    /// It listens for us: the listening socket is its.
    listens: bool,
    watchdog: Option<Duration>,
    heard: bool,
}

impl ServiceManager {
    /// Of a daemon that a client started: there is none.
    pub fn none() -> Self {
        Self::new(StartOrigin::Client, None)
    }

    /// What this process was given. `variable` reads its environment.
    pub fn of_this_process(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PassedSocketError> {
        let me = std::process::id().to_string();
        let is_me = |name: &str| variable(name).is_some_and(|pid| pid == me);
        let label = variable("XPC_SERVICE_NAME").filter(|label| is_label(label));
        if label.is_some() {
            return Ok(Self::new(StartOrigin::Launchd, label));
        }
        #[cfg(target_os = "linux")]
        if is_me("SYSTEMD_EXEC_PID") || is_me("LISTEN_PID") {
            return Ok(Self(Arc::new(ServiceManagerInner {
                starter: StartOrigin::Systemd,
                name: systemd::current_unit(),
                passed: systemd::passed_listener()?,
                watchdog: systemd::watchdog_timeout(),
                heard: variable("NOTIFY_SOCKET").and_then(|_| systemd::start_notifier()),
                said: Mutex::default(),
            })));
        }
        #[cfg(not(target_os = "linux"))]
        drop(is_me("LISTEN_PID"));
        Ok(Self::new(StartOrigin::Hand, None))
    }

    /// What the daemon before us was given, and the socket on which it listens.
    #[cfg(target_os = "linux")]
    pub fn inherited(
        legacy: InheritedService,
        socket: std::os::fd::OwnedFd,
    ) -> Result<Self, PassedSocketError> {
        let passed = legacy
            .listens
            .then(|| PassedSocket::new(socket))
            .transpose()?;
        Ok(Self(Arc::new(ServiceManagerInner {
            starter: legacy.starter,
            name: legacy.name,
            passed,
            watchdog: legacy.watchdog,
            heard: legacy.heard.then(systemd::start_notifier).flatten(),
            said: Mutex::default(),
        })))
    }

    pub fn legacy(&self) -> InheritedService {
        InheritedService {
            starter: self.starter(),
            name: self.0.name.clone(),
            listens: self.0.passed.is_some(),
            watchdog: self.0.watchdog,
            heard: self.is_heard(),
        }
    }

    /// Another process has taken over: from here on it is heard, and we are not. Returns when that was said.
    pub async fn succeeded_by(&self, pid: u32) {
        #[cfg(target_os = "linux")]
        if self.is_heard() {
            systemd::set_main_pid(pid).await;
        }
        #[cfg(not(target_os = "linux"))]
        let _ = pid;
    }

    fn new(starter: StartOrigin, name: Option<String>) -> Self {
        Self(Arc::new(ServiceManagerInner {
            starter,
            name,
            passed: None,
            watchdog: None,
            heard: None,
            said: Mutex::default(),
        }))
    }

    pub fn starter(&self) -> StartOrigin {
        self.0.starter
    }

    /// The unit, or the label.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The socket on which it listens for us.
    pub fn passed(&self) -> Option<&PassedSocket> {
        self.0.passed.as_ref()
    }

    /// How long it bears our silence.
    pub fn watchdog(&self) -> Option<Duration> {
        self.0.watchdog
    }

    /// Whether it hears what we say.
    pub fn is_heard(&self) -> bool {
        self.0.heard.is_some()
    }

    /// What there is to say of us, for whoever asks it.
    pub fn says(&self, words: &str) {
        self.tell(ServiceState::Nothing, words);
    }

    /// Clients are served from here on.
    pub fn ready(&self, words: &str) {
        self.tell(ServiceState::Ready, words);
    }

    /// We end.
    pub fn stopping(&self, words: &str) {
        self.tell(ServiceState::Stopping, words);
    }

    /// We live. What we do is said once more: of one that has just taken over it may not have been heard.
    pub fn alive(&self) {
        #[cfg(target_os = "linux")]
        {
            let said = self.0.said.lock().unwrap_or_else(PoisonError::into_inner);
            let text = systemd::notification_text(ServiceState::Alive, &said);
            drop(said);
            self.say(text);
        }
    }

    fn tell(&self, word: ServiceState, words: &str) {
        {
            let mut said = self.0.said.lock().unwrap_or_else(PoisonError::into_inner);
            if word == ServiceState::Nothing && *said == words {
                return;
            }
            words.clone_into(&mut said);
        }
        #[cfg(target_os = "linux")]
        self.say(systemd::notification_text(word, words));
    }

    #[cfg(target_os = "linux")]
    fn say(&self, text: String) {
        if let Some(heard) = &self.0.heard {
            // One that has not read so much does not miss this.
            drop(heard.try_send(text));
        }
    }
}

/// What systemd acts upon.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ServiceState {
    Nothing,
    Ready,
    Alive,
    Stopping,
}

/// Terminals hand down the label of whatever started them.
fn is_label(label: &str) -> bool {
    label
        .strip_prefix(LAUNCHD_LABEL)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_meant_for_another_process_do_not_count() {
        let other = |name: &str| match name {
            "SYSTEMD_EXEC_PID" | "LISTEN_PID" => Some("1".to_owned()),
            "NOTIFY_SOCKET" => Some("/nowhere".into()),
            "XPC_SERVICE_NAME" => Some("com.apple.Terminal".into()),
            _ => None,
        };
        let service = ServiceManager::of_this_process(other).unwrap();
        assert_eq!(service.starter(), StartOrigin::Hand);
        assert!(!service.is_heard());
        assert!(service.passed().is_none());
    }

    #[test]
    fn launchd_is_known_by_the_label_of_our_agent() {
        for (label, ours) in [
            ("muxd", true),
            ("muxd-0a1b2c3d", true),
            ("muxdoctor", false),
        ] {
            let named = |name: &str| (name == "XPC_SERVICE_NAME").then(|| label.to_owned());
            let service = ServiceManager::of_this_process(named).unwrap();
            assert_eq!(service.starter() == StartOrigin::Launchd, ours, "{label}");
        }
    }
}
