//! Signing in to servers.

use mux_proto::{Kind, LoggedOut, LoginStarted, LoginState, service::MuxResponse};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    vec![
        (
            "login",
            MuxResponse::Login(Ok(LoginStarted {
                login: "login-1".into(),
                url: "https://issuer.test/authorize?client_id=c".into(),
                covered_by: Some("other".into()),
                notes: vec!["why".into()],
                issuer: "https://issuer.test".into(),
                redirect_port: 4711,
                expires_ms: 300_000,
            })),
        ),
        ("login_wait", MuxResponse::LoginWait(Ok(pending()))),
        ("login_finish", MuxResponse::LoginFinish(Ok(signed_in()))),
        (
            "logout",
            MuxResponse::Logout(Ok(LoggedOut {
                server: "fix".into(),
                was_signed_in: true,
                revoked: false,
                problem: Some("why".into()),
            })),
        ),
    ]
}

fn pending() -> LoginState {
    LoginState {
        server: "fix".into(),
        pending: true,
        issuer: None,
        who: None,
        scopes: Vec::new(),
        tools: None,
        problem: None,
        problem_kind: None,
    }
}

fn signed_in() -> LoginState {
    LoginState {
        pending: false,
        issuer: Some("https://issuer.test".into()),
        who: Some("ada@example.com".into()),
        scopes: vec!["read".into(), "write".into()],
        tools: Some(3),
        problem: Some("why".into()),
        problem_kind: Some(Kind::AuthRequired.into()),
        ..pending()
    }
}
