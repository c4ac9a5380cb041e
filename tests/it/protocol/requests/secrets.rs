//! Secrets that the configuration names.

use mux_proto::{SecretText, SetSecretRequest, service::MuxRequest};

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    let name = || "DOCS_TOKEN".to_owned();
    let value = SecretText("t0ken".into());
    let request = SetSecretRequest {
        name: name(),
        value,
    };
    vec![
        ("set_secret", MuxRequest::SetSecret { request }),
        ("list_secrets", MuxRequest::ListSecrets {}),
        ("remove_secret", MuxRequest::RemoveSecret { name: name() }),
    ]
}
