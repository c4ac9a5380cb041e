//! Signing in to servers.

use mux_proto::{LoginFinishRequest, LoginRequest, LoginWaitRequest, service::MuxRequest};

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    let login = || "login-1".to_owned();
    vec![
        (
            "login",
            MuxRequest::Login {
                request: LoginRequest {
                    server: "fix".into(),
                },
            },
        ),
        (
            "login_wait",
            MuxRequest::LoginWait {
                request: LoginWaitRequest {
                    login: login(),
                    wait_ms: 1000,
                },
            },
        ),
        (
            "login_finish",
            MuxRequest::LoginFinish {
                request: LoginFinishRequest {
                    login: login(),
                    redirect_url: "http://127.0.0.1:4711/callback?code=c&state=s".into(),
                },
            },
        ),
        (
            "logout",
            MuxRequest::Logout {
                server: "fix".into(),
            },
        ),
    ]
}
