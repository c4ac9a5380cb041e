//! The configuration and the projects.

use mux_proto::{ApproveProjectRequest, ProjectsRequest, service::MuxRequest};

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    vec![
        ("refresh", MuxRequest::Refresh {}),
        (
            "projects",
            MuxRequest::Projects {
                request: ProjectsRequest {
                    dir: Some("/home/me/project".into()),
                },
            },
        ),
        (
            "approve_project",
            MuxRequest::ApproveProject {
                request: ApproveProjectRequest {
                    root: "/home/me/project".into(),
                    digest: "5f0c".into(),
                },
            },
        ),
        (
            "revoke_project",
            MuxRequest::RevokeProject {
                root: "/home/me/project".into(),
            },
        ),
    ]
}
