//! The configuration and the projects.

use mux_proto::{
    ProjectFile, ProjectInfo, ProjectList, ProjectRevoked, ProjectServer, ProjectState,
    service::MuxResponse,
};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    vec![
        ("refresh", MuxResponse::Refresh(Ok(super::reload()))),
        (
            "projects",
            MuxResponse::Projects(Ok(ProjectList {
                projects: vec![project()],
            })),
        ),
        (
            "approve_project",
            MuxResponse::ApproveProject(Ok(project())),
        ),
        (
            "revoke_project",
            MuxResponse::RevokeProject(Ok(ProjectRevoked { was_approved: true })),
        ),
    ]
}

fn project() -> ProjectInfo {
    ProjectInfo {
        root: "/home/me/project".into(),
        state: ProjectState::Changed,
        digest: Some("5f0c".into()),
        files: vec![ProjectFile {
            name: ".mux.toml".into(),
            text: Some("now".into()),
            approved: Some("before".into()),
        }],
        servers: vec![ProjectServer {
            name: "fix".into(),
            file: ".mux.toml".into(),
            command: "fixture --flag".into(),
            env: vec!["TOKEN".into()],
            headers: vec!["Authorization".into()],
            commands: vec!["pass show token".into()],
            problem: Some("why".into()),
        }],
        denied: vec!["git.push".into()],
        still_denied: vec!["git.reset".into()],
        problems: vec!["something".into()],
    }
}
