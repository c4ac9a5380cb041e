//! Downloads a file from a registry.
//!
//! Invariant: time and memory are bounded, regardless of the registry's answers.

use std::time::Duration;

use ureq::{
    Agent,
    tls::{RootCerts, TlsConfig},
};

use super::error::SetupError;

/// The maximum bytes of a package. Real packages have 10 MB.
pub(super) const MAX_PACKAGE_BYTES: u64 = 64 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(10);

pub(super) fn download(url: &str) -> Result<Vec<u8>, SetupError> {
    let failed = |reason: String| SetupError::Unreachable {
        url: url.to_owned(),
        reason,
    };
    // The system's certificates, because companies add theirs to them.
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .build();
    let agent: Agent = Agent::config_builder()
        .tls_config(tls)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_global(Some(DOWNLOAD_TIMEOUT))
        .http_status_as_error(false)
        .build()
        .into();
    let mut response = agent
        .get(url)
        .call()
        .map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    if !status.is_success() {
        return Err(SetupError::Refused {
            url: url.to_owned(),
            status: status.as_u16(),
        });
    }
    let body = response.body_mut().with_config().limit(MAX_PACKAGE_BYTES);
    body.read_to_vec()
        .map_err(|error| failed(error.to_string()))
}
