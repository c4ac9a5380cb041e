//! Calls that wait for an approval, and decisions on them.

use mux_proto::{ApprovalsRequest, DecideRequest, Decision, ResumeRequest, service::MuxRequest};

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    let list = ApprovalsRequest {
        approval: None,
        granted: true,
        known: Some(0),
        wait_ms: 1,
    };
    let decide = DecideRequest {
        approval: "A7".into(),
        decision: Decision::Deny,
        reason: Some("not now".into()),
        shown: vec!["A8".into()],
    };
    let grant = "g5f0c93a1".into();
    let resume = ResumeRequest {
        id: "r-1".into(),
        detach: true,
    };
    vec![
        ("approvals", MuxRequest::Approvals { request: list }),
        ("decide", MuxRequest::Decide { request: decide }),
        ("revoke_approval", MuxRequest::RevokeApproval { grant }),
        ("resume_run", MuxRequest::ResumeRun { request: resume }),
    ]
}
