//! Sources: APIs with a description instead of an MCP server.

use mux_proto::{RefreshedSource, service::MuxResponse};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    vec![(
        "refresh_source",
        MuxResponse::RefreshSource(Ok(RefreshedSource {
            source: "petstore".into(),
            functions: 19,
            added: vec!["pet.feed".into()],
            removed: vec!["pet.starve".into()],
            changed: vec!["pet.addPet".into()],
            origins: vec!["https://pets.example".into()],
            notes: vec!["POST /pet is left out: it is no object".into()],
        })),
    )]
}
