//! The service manager above this daemon, if one started it: systemd, or launchd.
//!
//! Invariant: its environment variables are used only if they name this very process, because a client that runs in its
//! own unit passes its environment on.

use std::{sync::Arc, time::Duration};

pub use mux_messages::StartedBy as StartOrigin;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "macos")]
use super::launchd as system;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use super::no_service_manager as system;
use super::passed_socket::{PassedSocket, PassedSocketError};
#[cfg(target_os = "linux")]
use super::systemd as system;

/// The label of the launchd agent that `mux service install` writes, and the prefix of the labels of other homes.
const LAUNCHD_LABEL: &str = "muxd";

/// The service manager of this daemon. Clones share their state.
#[derive(Clone, Debug)]
pub struct ServiceManager(Arc<ServiceManagerInner>);

#[derive(Debug)]
struct ServiceManagerInner {
    service: DetectedService,
    /// The last status text, to avoid sending it twice.
    said: Mutex<String>,
}

/// Facts about the service manager that started this process.
#[derive(Debug)]
pub(super) struct DetectedService {
    pub(super) starter: StartOrigin,
    pub(super) name: Option<String>,
    pub(super) passed: Option<PassedSocket>,
    pub(super) watchdog: Option<Duration>,
    /// The sender of notifications, if the service manager receives them.
    pub(super) notifier: Option<system::Notifier>,
}

impl DetectedService {
    pub(super) fn new(starter: StartOrigin, name: Option<String>) -> Self {
        Self {
            starter,
            name,
            passed: None,
            watchdog: None,
            notifier: None,
        }
    }
}

/// The facts about the service manager that a successor needs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct InheritedService {
    starter: StartOrigin,
    name: Option<String>,
    /// Set if the service manager owns the listening socket.
    listens: bool,
    watchdog: Option<Duration>,
    heard: bool,
}

impl ServiceManager {
    /// For a daemon that a client started: no service manager.
    pub fn none() -> Self {
        Self::from(DetectedService::new(StartOrigin::Client, None))
    }

    /// The service manager of this process, detected from its environment, which `variable` reads.
    pub fn of_this_process(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PassedSocketError> {
        let label = variable("XPC_SERVICE_NAME").filter(|label| is_label(label));
        let service = match label {
            Some(label) => DetectedService {
                passed: system::launchd_listener()?,
                ..DetectedService::new(StartOrigin::Launchd, Some(label))
            },
            None => system::detect(variable)?
                .unwrap_or_else(|| DetectedService::new(StartOrigin::Hand, None)),
        };
        Ok(Self::from(service))
    }

    /// The predecessor's service manager, and the listening socket if the service manager owns it.
    #[cfg(target_os = "linux")]
    pub fn inherited(
        legacy: InheritedService,
        socket: std::os::fd::OwnedFd,
    ) -> Result<Self, PassedSocketError> {
        let passed = legacy
            .listens
            .then(|| PassedSocket::new(socket))
            .transpose()?;
        Ok(Self::from(DetectedService {
            starter: legacy.starter,
            name: legacy.name,
            passed,
            watchdog: legacy.watchdog,
            notifier: legacy.heard.then(system::Notifier::start).flatten(),
        }))
    }

    pub fn legacy(&self) -> InheritedService {
        InheritedService {
            starter: self.starter(),
            name: self.0.service.name.clone(),
            listens: self.0.service.passed.is_some(),
            watchdog: self.0.service.watchdog,
            heard: self.is_heard(),
        }
    }

    /// Tells the service manager that `pid` is the main process now: systemd accepts notifications from that process
    /// only. Returns when the message was sent.
    pub async fn succeeded_by(&self, pid: u32) {
        if let Some(notifier) = &self.0.service.notifier {
            notifier.set_main_pid(pid).await;
        }
    }

    pub fn starter(&self) -> StartOrigin {
        self.0.service.starter
    }

    /// The unit of systemd, or the label of launchd.
    pub fn name(&self) -> Option<&str> {
        self.0.service.name.as_deref()
    }

    /// The listening socket that the service manager has passed.
    pub fn passed(&self) -> Option<&PassedSocket> {
        self.0.service.passed.as_ref()
    }

    /// The watchdog timeout: how long the service manager waits for a notification.
    pub fn watchdog(&self) -> Option<Duration> {
        self.0.service.watchdog
    }

    /// True if the service manager receives notifications.
    pub fn is_heard(&self) -> bool {
        self.0.service.notifier.is_some()
    }

    /// Sets the status text.
    pub fn says(&self, words: &str) {
        self.tell(ServiceState::Nothing, words);
    }

    /// Notifies that clients are being served.
    pub fn ready(&self, words: &str) {
        self.tell(ServiceState::Ready, words);
    }

    /// Notifies that the daemon is stopping.
    pub fn stopping(&self, words: &str) {
        self.tell(ServiceState::Stopping, words);
    }

    /// Notifies the watchdog. Repeats the status text, because the text of a daemon that has just taken over may have
    /// been ignored.
    pub fn alive(&self) {
        let said = self.0.said.lock().clone();
        self.send(ServiceState::Alive, &said);
    }

    fn tell(&self, word: ServiceState, words: &str) {
        {
            let mut said = self.0.said.lock();
            if word == ServiceState::Nothing && *said == words {
                return;
            }
            words.clone_into(&mut said);
        }
        self.send(word, words);
    }

    fn send(&self, word: ServiceState, words: &str) {
        if let Some(notifier) = &self.0.service.notifier {
            notifier.send(word, words);
        }
    }
}

impl From<DetectedService> for ServiceManager {
    fn from(service: DetectedService) -> Self {
        Self(Arc::new(ServiceManagerInner {
            service,
            said: Mutex::default(),
        }))
    }
}

/// The state that a notification reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ServiceState {
    Nothing,
    Ready,
    Alive,
    Stopping,
}

/// True if the label belongs to muxd's agent. Checked because terminals pass on the label of the program that started
/// them.
fn is_label(label: &str) -> bool {
    label
        .strip_prefix(LAUNCHD_LABEL)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_another_process_are_ignored() {
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
    fn launchd_is_detected_by_the_agent_label() {
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
