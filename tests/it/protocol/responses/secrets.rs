//! Secrets that the configuration names.

use mux_proto::{SecretInfo, SecretList, SecretPlace, SecretRemoved, service::MuxResponse};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let info = |place| SecretInfo {
        name: "DOCS_TOKEN".into(),
        place: Some(place),
        since_ms: Some(1_795_300_000_000),
        used_by: vec!["servers.docs".into()],
    };
    vec![
        (
            "set_secret",
            MuxResponse::SetSecret(Ok(info(SecretPlace::File))),
        ),
        (
            "list_secrets",
            MuxResponse::ListSecrets(Ok(SecretList {
                secrets: vec![info(SecretPlace::Keyring)],
                keyring: true,
                file: "/home/me/.local/state/mux/credentials.json".into(),
                note: Some("why".into()),
                problem: Some("why".into()),
            })),
        ),
        (
            "remove_secret",
            MuxResponse::RemoveSecret(Ok(SecretRemoved {
                name: "DOCS_TOKEN".into(),
                was_set: true,
                used_by: vec!["servers.docs".into()],
            })),
        ),
    ]
}
