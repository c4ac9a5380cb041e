//! Checks that the paths which sandboxes grant exist.
//!
//! Invariant: a file system that does not answer, such as a network mount, delays a load for [`GRANT_CHECK_TIMEOUT`] and
//! blocks no thread of the runtime.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use futures::future::join_all;
use tokio::{
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

use mux_config::ConfigProblem;
use mux_settings::{SandboxGrant, Settings};

/// How long the file systems of granted paths may take to answer.
const GRANT_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// The granted paths that do not exist, and those whose file system does not answer.
pub(super) async fn grant_problems(settings: &Settings) -> Vec<ConfigProblem> {
    check_grants(settings.sandbox_grants(), Path::exists, GRANT_CHECK_TIMEOUT).await
}

async fn check_grants(
    grants: Vec<SandboxGrant>,
    exists: impl Fn(&Path) -> bool + Clone + Send + 'static,
    limit: Duration,
) -> Vec<ConfigProblem> {
    let deadline = Instant::now() + limit;
    let checks = grants.iter().map(|grant| {
        let (exists, path): (_, PathBuf) = (exists.clone(), grant.path.clone());
        let found = spawn_blocking(move || exists(&path));
        async move {
            match timeout_at(deadline, found).await {
                Ok(Ok(true)) => None,
                Ok(Ok(false)) => Some(grant.missing()),
                // The runtime is ending.
                Ok(Err(_)) => None,
                Err(_) => Some(grant.unanswered()),
            }
        }
    });
    join_all(checks).await.into_iter().flatten().collect()
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
        let exists = move |path: &Path| match path.to_str() {
            Some("/hung") => hung.lock().recv().is_ok(),
            Some("/missing") => false,
            _ => true,
        };
        let limit = Duration::from_millis(300);
        let problems = check_grants(settings.sandbox_grants(), exists, limit).await;
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
}
