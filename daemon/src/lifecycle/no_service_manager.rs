//! Systems without a service manager that muxd supports.

use super::{
    passed_socket::{PassedSocket, PassedSocketError},
    service_manager::{DetectedService, ServiceState},
};

pub(super) fn detect(
    _: impl Fn(&str) -> Option<String>,
) -> Result<Option<DetectedService>, PassedSocketError> {
    Ok(None)
}

pub(super) fn launchd_listener() -> Result<Option<PassedSocket>, PassedSocketError> {
    Ok(None)
}

/// Nothing receives notifications.
#[derive(Debug)]
pub(super) enum Notifier {}

impl Notifier {
    pub(super) fn send(&self, _: ServiceState, _: &str) {
        match *self {}
    }

    pub(super) async fn set_main_pid(&self, _: u32) {
        match *self {}
    }
}
