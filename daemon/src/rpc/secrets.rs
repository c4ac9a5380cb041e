//! Sets, lists and removes the secrets that the configuration names.
//!
//! Invariant: values are stored and never sent. No answer contains a value.

use std::sync::Arc;

use mux_proto as wire;
use mux_secrets::Secret;

use super::{connection::ConnectionState, projects::apply_to_predecessor};
use crate::daemon::{Daemon, LoadTrigger};
use mux_audit::AdminEvent;
use mux_auth::{AuthError, MAX_SECRET_BYTES};
use mux_config::environment::is_secret_name;

pub(super) async fn set(
    daemon: &Arc<Daemon>,
    connection: &ConnectionState,
    request: wire::SetSecretRequest,
) -> wire::Result<wire::SecretInfo> {
    let wire::SetSecretRequest { name, value } = request;
    check_secret(&name, &value.0)?;
    let kept = daemon.auth().set_secret(&name, Secret::new(value.0)).await;
    kept.map_err(|error| secret_error(&error))?;
    connection.audit(AdminEvent::SecretSet, &name);
    apply_secrets(daemon).await;
    let mut all = list(daemon).secrets.into_iter();
    all.find(|info| info.name == name).ok_or_else(|| {
        let message = format!("the secret {name} was removed meanwhile");
        wire::Error::new(wire::Kind::NotFound, message)
    })
}

pub(super) fn list(daemon: &Daemon) -> wire::SecretList {
    let kept = daemon.auth().credential_location();
    let mut secrets = daemon.auth().secrets();
    let mut used = daemon.secrets();
    for secret in &mut secrets {
        let used_by = used.remove(&secret.name).unwrap_or_default();
        secret.used_by = used_by.into_iter().collect();
    }
    secrets.extend(used.into_iter().map(|(name, used_by)| wire::SecretInfo {
        name,
        place: None,
        since_ms: None,
        used_by: used_by.into_iter().collect(),
    }));
    secrets.sort_by(|a, b| a.name.cmp(&b.name));
    wire::SecretList {
        secrets,
        keyring: kept.keyring,
        file: kept.file,
        note: kept.note,
        problem: daemon.auth().credential_problem(),
    }
}

pub(super) async fn remove(
    daemon: &Arc<Daemon>,
    connection: &ConnectionState,
    name: String,
) -> wire::Result<wire::SecretRemoved> {
    let removed = daemon.auth().remove_secret(&name).await;
    let was_set = removed.map_err(|error| secret_error(&error))?;
    let used_by = daemon.secrets().remove(&name).unwrap_or_default();
    if was_set {
        connection.audit(AdminEvent::SecretRemoved, &name);
        apply_secrets(daemon).await;
    }
    Ok(wire::SecretRemoved {
        name,
        was_set,
        used_by: used_by.into_iter().collect(),
    })
}

/// Applies the change here, and in the predecessor if runs continue there.
async fn apply_secrets(daemon: &Arc<Daemon>) {
    let load = daemon.load(LoadTrigger::Watched);
    let (loaded, ()) = tokio::join!(load, apply_to_predecessor(daemon));
    // Problems of the rest of the configuration are reported by `status`.
    drop(loaded);
}

/// Validates a secret. No error contains the value.
fn check_secret(name: &str, value: &str) -> wire::Result<()> {
    let wrong = |message: String, hint: &str| {
        Err(wire::Error::new(wire::Kind::Validation, message).hint(hint))
    };
    if !is_secret_name(name) {
        let hint = "a name begins with a letter or `_`, and contains only letters, digits, `_`, `-` and `.`";
        return wrong(format!("{name:?} is not a valid secret name"), hint);
    }
    match value {
        "" => wrong(
            format!("the value of {name} is empty"),
            "`mux secrets remove` deletes a secret",
        ),
        value if value.contains('\0') => wrong(
            format!("the value of {name} contains a NUL byte"),
            "environment variables cannot contain one",
        ),
        value if value.len() > MAX_SECRET_BYTES => {
            let message = format!(
                "the value of {name} has {} bytes, over {MAX_SECRET_BYTES}",
                value.len()
            );
            wrong(
                message,
                "store it in a file, and read it with a command: ${cmd:…}",
            )
        }
        _ => Ok(()),
    }
}

fn secret_error(error: &AuthError) -> wire::Error {
    wire::Error::new(wire::Kind::Unavailable, error.to_string()).hint("see `mux doctor`")
}
