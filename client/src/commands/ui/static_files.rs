//! The static files of the page, embedded in the program without a build step.
//!
//! Invariant: the files contain no user data, so they are served without the token.

use axum::{
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use include_dir::{Dir, include_dir};

static PAGE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/commands/ui/page");
/// The file at the path `/`, which has no other path.
const INDEX_FILE: &str = "index.html";

pub(super) async fn serve_static_file(uri: Uri) -> Response {
    match find_file(uri.path()) {
        Some((kind, content)) => ([(header::CONTENT_TYPE, kind)], content).into_response(),
        None => (StatusCode::NOT_FOUND, "not found\n").into_response(),
    }
}

/// The content type and the content of a file.
fn find_file(path: &str) -> Option<(&'static str, &'static [u8])> {
    let name = match path.strip_prefix('/')? {
        "" => INDEX_FILE,
        INDEX_FILE => return None,
        name => name,
    };
    let (_, extension) = name.rsplit_once('.')?;
    let kind = match extension {
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    };
    Some((kind, PAGE.get_file(name)?.contents()))
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
        let text = |name: &str| PAGE.get_file(name).and_then(|file| file.contents_utf8());
        let index = text(INDEX_FILE).unwrap();
        for file in PAGE.files() {
            let path = file.path().to_str().unwrap();
            let content = text(path).unwrap();
            for part in content.split(['"', '\'']) {
                let named = part.strip_prefix('.').unwrap_or(part);
                if named.starts_with('/') && is_script(named) {
                    assert!(find_file(named).is_some(), "{path} names {named}");
                }
            }
            if is_script(path) {
                assert!(index.contains(path), "{path} is not loaded ahead");
            }
        }
    }

    #[test]
    fn no_file_sets_html_or_contacts_other_origins() {
        for file in PAGE.files() {
            let path = file.path().to_str().unwrap();
            let content = file.contents_utf8().unwrap();
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
                content.is_ascii() || !is_script(path),
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
