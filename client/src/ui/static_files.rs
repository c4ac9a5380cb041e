//! The static files of the page, embedded in the program without a build step.
//!
//! Invariant: the files contain no user data, so they are served without the token.

use axum::{
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

const SCRIPT_CONTENT_TYPE: &str = "text/javascript; charset=utf-8";

/// The path, content type and content of each file.
const STATIC_FILES: &[(&str, &str, &str)] = &[
    (
        "/",
        "text/html; charset=utf-8",
        include_str!("page/index.html"),
    ),
    (
        "/style.css",
        "text/css; charset=utf-8",
        include_str!("page/style.css"),
    ),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    (
        "/main.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/main.js"),
    ),
    (
        "/http.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/http.js"),
    ),
    (
        "/live.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/live.js"),
    ),
    (
        "/draw.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/draw.js"),
    ),
    (
        "/words.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/words.js"),
    ),
    (
        "/parts.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/parts.js"),
    ),
    (
        "/overview.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/overview.js"),
    ),
    (
        "/server.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/server.js"),
    ),
    (
        "/servers.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/servers.js"),
    ),
    (
        "/server_actions.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/server_actions.js"),
    ),
    (
        "/stored.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/stored.js"),
    ),
    (
        "/schema.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/schema.js"),
    ),
    (
        "/call.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/call.js"),
    ),
    (
        "/doctor.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/doctor.js"),
    ),
    (
        "/runs.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/runs.js"),
    ),
    ("/run.js", SCRIPT_CONTENT_TYPE, include_str!("page/run.js")),
    (
        "/spans.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/spans.js"),
    ),
    (
        "/timeline.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/timeline.js"),
    ),
    (
        "/latency.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/latency.js"),
    ),
    (
        "/tools.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/tools.js"),
    ),
    (
        "/approvals.js",
        SCRIPT_CONTENT_TYPE,
        include_str!("page/approvals.js"),
    ),
];

pub(super) async fn serve_static_file(uri: Uri) -> Response {
    match STATIC_FILES.iter().find(|(path, _, _)| *path == uri.path()) {
        Some((_, kind, content)) => ([(header::CONTENT_TYPE, *kind)], *content).into_response(),
        None => (StatusCode::NOT_FOUND, "not found\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn is_script(path: &str) -> bool {
        Path::new(path).extension() == Some("js".as_ref())
    }

    #[test]
    fn page_references_only_its_own_files() {
        let (_, _, index) = STATIC_FILES[0];
        for (path, _, content) in STATIC_FILES {
            for part in content.split(['"', '\'']) {
                let named = part.strip_prefix('.').unwrap_or(part);
                if named.starts_with('/') && is_script(named) {
                    assert!(
                        STATIC_FILES.iter().any(|(path, _, _)| *path == named),
                        "{path} names {named}"
                    );
                }
            }
            if is_script(path) {
                assert!(index.contains(path), "{path} is not loaded ahead");
            }
        }
    }

    #[test]
    fn no_file_sets_html_or_contacts_other_origins() {
        for (path, kind, content) in STATIC_FILES {
            for forbidden in [
                "innerHTML",
                "outerHTML",
                "insertAdjacent",
                "document.write",
                "eval(",
            ] {
                assert!(!content.contains(forbidden), "{forbidden} in {path}");
            }
            let elsewhere = content.replace("http://www.w3.org/", "");
            assert!(
                !elsewhere.contains("http://") && !elsewhere.contains("https://"),
                "{path}"
            );
            assert!(
                content.is_ascii() || *kind != SCRIPT_CONTENT_TYPE,
                "{path} is not ASCII"
            );
        }
    }

    #[tokio::test]
    async fn unknown_path_is_not_found() {
        let status = |path: &'static str| async move {
            serve_static_file(Uri::from_static(path)).await.status()
        };
        assert_eq!(status("/").await, StatusCode::OK);
        assert_eq!(status("/?x=1").await, StatusCode::OK);
        assert_eq!(status("/main.js").await, StatusCode::OK);
        for path in ["/../Cargo.toml", "/index.html", "/main.js/", "/etc/passwd"] {
            assert_eq!(status(path).await, StatusCode::NOT_FOUND, "{path}");
        }
    }
}
