//! The files of a service, from the templates in `scripts/service`.
//!
//! Invariant: pure. A path that a file cannot represent is an error.

use std::fmt::Write as _;

use std::path::{Path, PathBuf};

const SERVICE_TEMPLATE: &str = include_str!("../../../../scripts/service/muxd.service");
const SOCKET_TEMPLATE: &str = include_str!("../../../../scripts/service/muxd.socket");
const LAUNCHD_AGENT_TEMPLATE: &str = include_str!("../../../../scripts/service/muxd.plist");

#[derive(Debug, thiserror::Error)]
#[error("{0:?} cannot be in a service file: it contains special characters")]
pub(super) struct UnwritablePathError(pub(super) PathBuf);

/// The program that a service starts, and how.
#[derive(Clone, Debug)]
pub(super) struct ServiceSpec {
    /// The name of the unit without its suffix, or of the agent.
    pub(super) name: String,
    pub(super) muxd: PathBuf,
    pub(super) socket: PathBuf,
    /// Where a service manager writes the output of muxd before it has a log.
    pub(super) log: PathBuf,
    /// The environment variables of the daemon, which gets none from a shell.
    pub(super) variables: Vec<(&'static str, PathBuf)>,
    /// `MUX_HOME`, unless it is the user's default daemon.
    pub(super) home: Option<PathBuf>,
}

impl ServiceSpec {
    /// The content of `muxd.service`.
    pub(super) fn service_unit_text(&self) -> Result<String, UnwritablePathError> {
        let mut environment = String::new();
        for (name, value) in &self.variables {
            _ = writeln!(
                environment,
                "Environment={}",
                quote_for_systemd(&format!("{name}={}", plain_path(value)?))
            );
        }
        let text = SERVICE_TEMPLATE
            .replace("@ENVIRONMENT@\n", &environment)
            .replace("@MUXD@", &quote_for_systemd(plain_path(&self.muxd)?));
        self.fill_name(&text)
    }

    /// The content of `muxd.socket`.
    pub(super) fn socket_unit_text(&self) -> Result<String, UnwritablePathError> {
        let path = plain_path(&self.socket)?.replace('%', "%%");
        self.fill_name(&SOCKET_TEMPLATE.replace("@SOCKET@", &path))
    }

    fn fill_name(&self, text: &str) -> Result<String, UnwritablePathError> {
        let of = match &self.home {
            Some(home) => format!(" (MUX_HOME={})", plain_path(home)?.replace('%', "%%")),
            None => String::new(),
        };
        Ok(text.replace("@NAME@", &self.name).replace("@OF@", &of))
    }

    /// The property list of a launchd agent.
    pub(super) fn launchd_agent_text(&self) -> Result<String, UnwritablePathError> {
        let variables = self.variables.iter().map(|(name, value)| {
            let value = escape_xml(plain_path(value)?);
            Ok(format!(
                "\t\t<key>{name}</key>\n\t\t<string>{value}</string>"
            ))
        });
        let variables: Vec<String> = variables.collect::<Result<_, UnwritablePathError>>()?;
        Ok(LAUNCHD_AGENT_TEMPLATE
            .replace("@NAME@", &escape_xml(&self.name))
            .replace("@ENVIRONMENT@", &variables.join("\n"))
            .replace("@MUXD@", &escape_xml(plain_path(&self.muxd)?))
            .replace("@SOCKET@", &escape_xml(plain_path(&self.socket)?))
            .replace("@LOG@", &escape_xml(plain_path(&self.log)?)))
    }
}

pub(super) fn plain_path(path: &Path) -> Result<&str, UnwritablePathError> {
    let text = path.to_str().filter(|text| {
        !text.chars().any(char::is_control) && text.trim() == *text && !text.is_empty()
    });
    text.ok_or_else(|| UnwritablePathError(path.to_owned()))
}

/// Quotes one word for systemd, which processes escapes and specifiers even within quotes.
fn quote_for_systemd(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('%', "%%"))
}

/// Escapes the content of an XML element.
pub(super) fn escape_xml(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(muxd: &str) -> ServiceSpec {
        ServiceSpec {
            name: "muxd-0a1b2c3d".into(),
            muxd: muxd.into(),
            socket: "/tmp/100%/run/muxd.sock".into(),
            log: "/tmp/a & b/launchd.log".into(),
            variables: vec![("MUX_HOME", "/tmp/100% <\"mine\">".into())],
            home: Some("/tmp/100%".into()),
        }
    }

    #[test]
    fn all_placeholders_of_the_templates_are_filled() {
        let described = described("/opt/mux/muxd");
        for text in [
            described.service_unit_text().unwrap(),
            described.socket_unit_text().unwrap(),
            described.launchd_agent_text().unwrap(),
        ] {
            let left: Vec<&str> = text.lines().filter(|line| line.contains('@')).collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }

    #[test]
    fn systemd_units_are_escaped() {
        let described = described("/opt/100% \"mux\"/a\\b/muxd");
        let service = described.service_unit_text().unwrap();
        for line in [
            "ExecStart=\"/opt/100%% \\\"mux\\\"/a\\\\b/muxd\"",
            "Environment=\"MUX_HOME=/tmp/100%% <\\\"mine\\\">\"",
            "Requires=muxd-0a1b2c3d.socket",
            "Type=notify",
        ] {
            assert!(service.lines().any(|l| l == line), "{line}\n{service}");
        }
        let socket = described.socket_unit_text().unwrap();
        assert!(
            socket.contains("\nListenStream=/tmp/100%%/run/muxd.sock\n"),
            "{socket}"
        );
    }

    #[test]
    fn launchd_agent_is_escaped() {
        let described = described("/opt/<mux> & co/muxd");
        let agent = described.launchd_agent_text().unwrap();
        let agent = plist::Value::from_reader_xml(agent.as_bytes()).unwrap();
        let agent = agent.as_dictionary().unwrap();
        let text = |key: &str| agent[key].as_string().unwrap().to_owned();
        assert_eq!(text("Label"), "muxd-0a1b2c3d");
        assert_eq!(text("StandardErrorPath"), "/tmp/a & b/launchd.log");
        let program = agent["ProgramArguments"].as_array().unwrap();
        assert_eq!(program[0].as_string(), Some("/opt/<mux> & co/muxd"));
        assert_eq!(program.len(), 1);
        let variables = agent["EnvironmentVariables"].as_dictionary().unwrap();
        assert_eq!(
            variables["MUX_HOME"].as_string(),
            Some("/tmp/100% <\"mine\">")
        );
        // A daemon that exits with success is not restarted, or `mux stop` would have no effect.
        let keep = agent["KeepAlive"].as_dictionary().unwrap();
        assert_eq!(keep["SuccessfulExit"].as_boolean(), Some(false));
        assert_eq!(agent["RunAtLoad"].as_boolean(), Some(true));
        // The daemon asks launchd for the socket of this name.
        let socket = agent["Sockets"].as_dictionary().unwrap()["Listeners"].as_dictionary();
        let socket = socket.unwrap();
        assert_eq!(
            socket["SockPathName"].as_string(),
            Some("/tmp/100%/run/muxd.sock")
        );
        assert_eq!(socket["SockPathMode"].as_signed_integer(), Some(0o600));
    }

    /// Checks a property list as `plutil -lint` does, and its keys against `launchd.plist(5)`.
    fn check_launchd_agent(text: &str) {
        use plist::Value;

        let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
            \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n";
        assert!(text.starts_with(head) && text.contains("\n<plist version=\"1.0\">\n"));
        let agent = Value::from_reader_xml(text.as_bytes()).unwrap();
        let agent = agent.into_dictionary().unwrap();
        assert_eq!(
            agent.len(),
            text.lines()
                .filter(|line| line.starts_with("\t<key>"))
                .count(),
            "a key is there twice"
        );
        for key in ["Label", "ProgramArguments"] {
            assert!(agent.contains_key(key), "launchd requires {key}");
        }
        let is_path = |value: &Value| value.as_string().is_some_and(|path| path.starts_with('/'));
        for (key, value) in &agent {
            let is_valid = match (key.as_str(), value) {
                ("Label", Value::String(label)) => !label.is_empty() && !label.contains('/'),
                ("ProgramArguments", Value::Array(words)) => {
                    words.first().is_some_and(is_path)
                        && words.iter().all(|word| word.as_string().is_some())
                }
                ("EnvironmentVariables", Value::Dictionary(variables)) => {
                    variables.values().all(|value| value.as_string().is_some())
                }
                ("Sockets", Value::Dictionary(sockets)) => sockets.values().all(|socket| {
                    let socket = socket.as_dictionary().unwrap();
                    socket.iter().all(|(key, value)| match key.as_str() {
                        // The longest path of a socket on macOS.
                        "SockPathName" => is_path(value) && value.as_string().unwrap().len() < 104,
                        "SockPathMode" => value.as_signed_integer().is_some(),
                        _ => false,
                    })
                }),
                ("KeepAlive", Value::Dictionary(conditions)) => conditions
                    .iter()
                    .all(|(key, value)| key == "SuccessfulExit" && value.as_boolean().is_some()),
                ("ProcessType", Value::String(kind)) => {
                    ["Background", "Standard", "Adaptive", "Interactive"].contains(&kind.as_str())
                }
                ("StandardErrorPath", value) => is_path(value),
                ("RunAtLoad", Value::Boolean(_)) => true,
                ("ThrottleInterval" | "ExitTimeOut" | "Umask", Value::Integer(number)) => {
                    number.as_unsigned().is_some()
                }
                _ => false,
            };
            assert!(is_valid, "{key}: {value:?}");
        }
    }

    #[test]
    fn launchd_agent_has_the_keys_and_types_that_launchd_reads() {
        let mut described = described("/opt/<mux> & co/muxd");
        check_launchd_agent(&described.launchd_agent_text().unwrap());
        described.variables.clear();
        check_launchd_agent(&described.launchd_agent_text().unwrap());
    }

    #[test]
    fn files_are_valid_without_variables() {
        let mut described = described("/opt/mux/muxd");
        described.variables.clear();
        described.home = None;
        let service = described.service_unit_text().unwrap();
        assert!(!service.contains("Environment"), "{service}");
        assert!(
            service.contains("Description=muxd: the sessions of your MCP servers\n"),
            "{service}"
        );
        let agent = described.launchd_agent_text().unwrap();
        let agent = plist::Value::from_reader_xml(agent.as_bytes()).unwrap();
        let variables = &agent.as_dictionary().unwrap()["EnvironmentVariables"];
        assert!(variables.as_dictionary().unwrap().is_empty());
    }

    #[test]
    fn control_characters_in_paths_are_refused() {
        for muxd in ["/opt/a\nExecStartPre=/bin/sh/muxd", "/opt/a\u{1}/muxd"] {
            assert!(described(muxd).service_unit_text().is_err(), "{muxd:?}");
            assert!(described(muxd).launchd_agent_text().is_err(), "{muxd:?}");
        }
    }
}
