//! Checks that the paths granted by sandboxes exist, and that no server can redirect them.
//!
//! Invariant: a file system that does not answer, such as a network mount, delays a load for [`GRANT_CHECK_TIMEOUT`] and
//! blocks no thread of the runtime.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use futures::future::join_all;
use tokio::{
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

use mux_config::ConfigProblem;
use mux_paths::resolved_path::{ResolvedPath, resolve};
use mux_settings::{EntryPath, Settings};
use mux_upstream::{ChangeableLink, WriteGrant, changeable_link};

/// How long the file systems of granted paths may take to answer.
const GRANT_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(super) struct CheckedGrants {
    /// Granted paths that do not exist, whose file system does not answer, or that a server can redirect.
    pub(super) problems: Vec<ConfigProblem>,
    /// The write access of the configured servers.
    pub(super) write: Vec<WriteGrant>,
}

pub(super) async fn check_grants(settings: &Settings) -> CheckedGrants {
    resolve_grants(settings.sandbox_grants(), resolve, GRANT_CHECK_TIMEOUT).await
}

async fn resolve_grants(
    grants: Vec<EntryPath>,
    resolve: impl Fn(&Path) -> io::Result<ResolvedPath> + Clone + Send + 'static,
    limit: Duration,
) -> CheckedGrants {
    let deadline = Instant::now() + limit;
    let resolved = grants.iter().map(|grant| {
        let (resolve, path): (_, PathBuf) = (resolve.clone(), grant.path.clone());
        timeout_at(deadline, spawn_blocking(move || resolve(&path)))
    });
    let resolved = join_all(resolved).await;
    let mut checked = CheckedGrants::default();
    let mut known = Vec::new();
    for (grant, resolved) in grants.iter().zip(resolved) {
        let resolved = match resolved {
            Ok(Ok(Ok(resolved))) => Some(resolved),
            Ok(Ok(Err(_))) => {
                checked.problems.push(grant.missing());
                None
            }
            // The runtime is ending.
            Ok(Err(_)) => None,
            Err(_) => {
                checked.problems.push(grant.unanswered());
                None
            }
        };
        if grant.is_write() {
            let real = resolved.as_ref().map(|resolved| resolved.real.clone());
            checked.write.push(WriteGrant {
                server: grant.server.clone(),
                folder: real.unwrap_or_else(|| grant.path.clone()),
            });
        }
        known.extend(resolved.map(|resolved| (grant, resolved)));
    }
    for (grant, resolved) in known {
        let found = changeable_link(&resolved.links, &resolved.real, &checked.write);
        if let Some(ChangeableLink { link, grant: write }) = found {
            let problem = grant.led_elsewhere(&link.at, &write.server, &resolved.real);
            checked.problems.push(problem);
        }
    }
    checked
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use parking_lot::Mutex;

    use super::*;
    use mux_config::{Config, environment::Environment};

    #[tokio::test]
    async fn path_that_does_not_answer_is_a_problem_and_holds_up_no_other() {
        let config =
            "[servers.a]\ncommand = \"x\"\nsandbox = { read = [\"/hung\", \"/missing\", \"/\"] }\n";
        let config = Config::parse(config, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/"));
        let (unhang, hung) = mpsc::channel::<()>();
        let hung = Arc::new(Mutex::new(hung));
        let resolve = move |path: &Path| {
            match path.to_str() {
                Some("/hung") => _ = hung.lock().recv(),
                Some("/missing") => return Err(io::ErrorKind::NotFound.into()),
                _ => {}
            }
            Ok(ResolvedPath {
                real: path.to_owned(),
                links: Vec::new(),
            })
        };
        let limit = Duration::from_millis(300);
        let CheckedGrants { problems, .. } =
            resolve_grants(settings.sandbox_grants(), resolve, limit).await;
        drop(unhang);
        let messages: Vec<_> = problems.iter().map(|problem| &*problem.message).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(
            messages[0].contains("/hung does not answer; mount"),
            "{messages:?}"
        );
        assert!(
            messages[1].contains("/missing does not exist"),
            "{messages:?}"
        );
        assert_eq!(problems[0].keys, ["servers", "a", "sandbox", "read"]);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn link_that_another_server_may_change_is_a_problem_of_the_granted_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for folder in ["proj", ".ssh"] {
            std::fs::create_dir(home.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("../.ssh", home.join("proj/docs")).unwrap();
        let config = "[servers.wr]\ncommand = \"x\"\nsandbox = { write = [\"proj\"] }\n[servers.rd]\ncommand = \"x\"\nsandbox = { read = [\"proj/docs\"] }\n";
        let config = Config::parse(config, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), &home);
        let checked = super::check_grants(&settings).await;
        let [problem] = &checked.problems[..] else {
            panic!("{checked:?}");
        };
        assert_eq!(problem.keys, ["servers", "rd", "sandbox", "read"]);
        assert!(problem.message.contains("which the server `wr` may change"));
        let fix = format!("write {:?} in sandbox.read", home.join(".ssh"));
        assert!(problem.message.contains(&fix), "{problem:?}");
        assert_eq!(checked.write[0].folder, home.join("proj"));
    }
}
