//! The configuration files on the disk, and the last good content of each.
//!
//! Invariant: an unreadable or invalid file replaces nothing.

use std::path::Path;

use tokio::task::spawn_blocking;
use tracing::warn;

use super::{DaemonPaths, LoadError};
use mux_config::{Config, ConfigError};

/// The last good content of the configuration files, and their present problems.
#[derive(Debug, Default)]
pub(super) struct LastGoodConfig {
    /// The last configuration that could be parsed.
    pub(super) good: Option<GoodConfig>,
    /// Why the file's present text was not accepted.
    pub(super) trouble: Option<String>,
    pub(super) env: String,
    pub(super) env_trouble: Option<String>,
    /// Set if the files could not be read at all, which may be temporary.
    pub(super) unread: bool,
    /// The fingerprint of the files when they were read last.
    pub(super) fingerprint: Option<blake3::Hash>,
}

#[derive(Debug)]
pub(super) struct GoodConfig {
    pub(super) config: Config,
    pub(super) is_blank: bool,
    /// The config came from a file. If the file disappears later, that is an error, not an empty config.
    written: bool,
}

/// The present content of the configuration files.
pub(super) struct ConfigFiles {
    config: Result<Option<String>, ConfigError>,
    env: Result<String, String>,
}

impl ConfigFiles {
    /// Fails only while the daemon is ending.
    pub(super) async fn read(paths: &DaemonPaths) -> Result<Self, LoadError> {
        let config = paths.config.clone();
        let env = paths.env.clone();
        let read = spawn_blocking(move || Self {
            config: Config::read(&config),
            env: match std::fs::read_to_string(&env) {
                Ok(text) => Ok(text),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
                Err(e) => Err(format!("cannot read {}: {e}", env.display())),
            },
        });
        read.await.map_err(|_| LoadError::DaemonEnds)
    }

    pub(super) fn fingerprint(&self) -> blake3::Hash {
        let config = self.config.as_ref().map_err(ToString::to_string);
        blake3::hash(format!("{config:?}\0{:?}", self.env).as_bytes())
    }

    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.config, Ok(Some(text)) if text.trim().is_empty())
    }
}

impl LastGoodConfig {
    /// Takes over the parts that can be read and parsed.
    pub(super) fn take(&mut self, written: ConfigFiles, path: &Path) {
        self.fingerprint = Some(written.fingerprint());
        self.unread =
            written.env.is_err() || matches!(written.config, Err(ConfigError::Read { .. }));
        match written.env {
            Ok(env) => (self.env, self.env_trouble) = (env, None),
            Err(problem) => self.env_trouble = Some(problem),
        }
        let shown = path.display();
        let parsed = match written.config {
            Ok(Some(text)) => Config::parse(&text, &shown.to_string())
                .map(|config| GoodConfig {
                    config,
                    is_blank: text.trim().is_empty(),
                    written: true,
                })
                .map_err(|error| error.to_string()),
            Ok(None) if self.good.as_ref().is_some_and(|good| good.written) => Err(format!(
                "{shown} is gone, and its last content stays active; restore it, or leave an empty \
                 file to have no servers"
            )),
            Ok(None) => Ok(GoodConfig {
                config: Config::default(),
                is_blank: true,
                written: false,
            }),
            Err(error) => Err(error.to_string()),
        };
        match parsed {
            Ok(good) => (self.good, self.trouble) = (Some(good), None),
            Err(problem) => {
                warn!(problem, "configuration refused");
                self.trouble = Some(problem);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(config: Result<Option<&str>, &str>) -> ConfigFiles {
        let config = config.map(|text| text.map(str::to_owned));
        ConfigFiles {
            config: config.map_err(|why| ConfigError::Read {
                path: "c".into(),
                source: std::io::Error::other(why.to_owned()),
            }),
            env: Ok(String::new()),
        }
    }

    #[test]
    fn last_good_text_stays_in_force_until_the_file_is_good_again() {
        let mut files = LastGoodConfig::default();
        let path = Path::new("config.toml");
        let mut take = |config, server: Option<&str>, trouble: Option<&str>| {
            files.take(written(config), path);
            let good = files.good.as_ref();
            let servers = good.map(|good| good.config.servers.keys().cloned().collect::<String>());
            assert_eq!(servers.as_deref(), server);
            match (&files.trouble, trouble) {
                (None, None) => {}
                (Some(problem), Some(part)) => assert!(problem.contains(part), "{problem}"),
                other => panic!("{config:?}: {other:?}"),
            }
        };
        take(Ok(Some("[servers")), None, Some("not valid TOML"));
        take(Ok(None), Some(""), None);
        take(Ok(Some("[servers.one]")), Some("one"), None);
        take(Ok(Some("servers = 1")), Some("one"), Some("tables"));
        take(Err("no"), Some("one"), Some("cannot read"));
        take(Ok(None), Some("one"), Some("is gone"));
        take(Ok(Some("")), Some(""), None);
        take(Ok(Some("[servers.two]")), Some("two"), None);
    }

    #[test]
    fn fingerprint_depends_on_content_only() {
        let of = |config| written(config).fingerprint();
        assert_eq!(of(Ok(Some("a"))), of(Ok(Some("a"))));
        let all = [
            of(Ok(Some("a"))),
            of(Ok(Some(""))),
            of(Ok(None)),
            of(Err("x")),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one));
        }
    }
}
