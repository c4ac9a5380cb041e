//! Checks that the hosts listed by sandboxes exist.
//!
//! Invariant: a name is reported only if the resolver says that it does not exist. Without a network no name is
//! reported.

use std::time::Duration;

use dns_lookup::LookupErrorKind;
use futures::future::join_all;
use tokio::{
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

use mux_config::ConfigProblem;
use mux_settings::Settings;

/// How long the resolver may take. Names without an answer by then are not reported.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// Further hosts are not looked up.
const MAX_LOOKED_UP_HOSTS: usize = 64;

pub(super) async fn host_problems(settings: &Settings) -> Vec<ConfigProblem> {
    check_hosts(settings.sandbox_hosts(), is_unknown_host, LOOKUP_TIMEOUT).await
}

/// Returns true if the resolver says that no such name exists. Blocks until it answers.
fn is_unknown_host(host: &str) -> bool {
    let found = dns_lookup::getaddrinfo(Some(host), None, None);
    found.is_err_and(|error| matches!(error.kind(), LookupErrorKind::NoName))
}

async fn check_hosts(
    hosts: Vec<(String, String)>,
    is_unknown: impl Fn(&str) -> bool + Clone + Send + 'static,
    limit: Duration,
) -> Vec<ConfigProblem> {
    let deadline = Instant::now() + limit;
    let checks = hosts.into_iter().take(MAX_LOOKED_UP_HOSTS);
    let checks = checks.map(|(server, host)| {
        let is_unknown = is_unknown.clone();
        let looked_up = {
            let host = host.clone();
            spawn_blocking(move || is_unknown(&host))
        };
        async move {
            let unknown = timeout_at(deadline, looked_up).await.ok()?.ok()?;
            unknown.then(|| {
                let message = format!(
                    "[servers.{server}]: sandbox.network lists {host:?}, and no such host exists: correct its name, \
                     or remove it; until then, the server cannot reach it"
                );
                ConfigProblem::at(&["servers", &server, "sandbox", "network"], message)
            })
        }
    });
    join_all(checks).await.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::{
        path::Path,
        sync::{Arc, mpsc},
    };

    use parking_lot::Mutex;

    use super::*;
    use mux_config::{Config, environment::Environment};

    #[tokio::test]
    async fn host_that_does_not_exist_is_a_problem_and_one_without_an_answer_is_none() {
        let config = "[servers.a]\ncommand = \"x\"\n\
             sandbox = { network = [\"wrong.example\", \"right.example:443\", \"silent.example\", \"*.any.example\", \"10.0.0.1\"] }\n";
        let config = Config::parse(config, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/"));
        let (answer, silence) = mpsc::channel::<()>();
        let silence = Arc::new(Mutex::new(silence));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let names = Arc::clone(&asked);
        let is_unknown = move |host: &str| {
            names.lock().push(host.to_owned());
            if host == "silent.example" {
                silence.lock().recv().ok();
            }
            host == "wrong.example"
        };
        let limit = Duration::from_secs(2);
        let problems = check_hosts(settings.sandbox_hosts(), is_unknown, limit).await;
        drop(answer);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("\"wrong.example\""), "{problems:?}");
        let mut asked = asked.lock().clone();
        asked.sort();
        assert_eq!(asked, ["right.example", "silent.example", "wrong.example"]);
    }
}
