//! The files of a service, from the templates in `scripts/service`.
//!
//! Invariant: pure. What a file cannot say is refused, and never written otherwise.

use std::path::{Path, PathBuf};

const SERVICE: &str = include_str!("../../../../scripts/service/muxd.service");
const SOCKET: &str = include_str!("../../../../scripts/service/muxd.socket");
const AGENT: &str = include_str!("../../../../scripts/service/muxd.plist");

#[derive(Debug, thiserror::Error)]
#[error("{0:?} cannot stand in the file of a service: it has letters that are no plain text")]
pub(super) struct Unwritable(PathBuf);

/// What a service is to start.
#[derive(Clone, Debug)]
pub(super) struct Described {
    /// Of the unit, without its suffix, or of the agent.
    pub(super) name: String,
    pub(super) muxd: PathBuf,
    pub(super) socket: PathBuf,
    /// Where a service manager writes what muxd says before it has a log.
    pub(super) log: PathBuf,
    /// Where things are, for a daemon that sees no shell's environment.
    pub(super) variables: Vec<(&'static str, PathBuf)>,
    /// `MUX_HOME`, if it is not the user's own daemon.
    pub(super) home: Option<PathBuf>,
}

impl Described {
    /// `muxd.service`.
    pub(super) fn service(&self) -> Result<String, Unwritable> {
        let mut environment = String::new();
        for (name, value) in &self.variables {
            environment.push_str(&format!(
                "Environment={}\n",
                quoted(&format!("{name}={}", plain(value)?))
            ));
        }
        let text = SERVICE
            .replace("@ENVIRONMENT@\n", &environment)
            .replace("@MUXD@", &quoted(plain(&self.muxd)?));
        self.named(&text)
    }

    /// `muxd.socket`.
    pub(super) fn socket(&self) -> Result<String, Unwritable> {
        let path = plain(&self.socket)?.replace('%', "%%");
        self.named(&SOCKET.replace("@SOCKET@", &path))
    }

    fn named(&self, text: &str) -> Result<String, Unwritable> {
        let of = match &self.home {
            Some(home) => format!(" (MUX_HOME={})", plain(home)?.replace('%', "%%")),
            None => String::new(),
        };
        Ok(text.replace("@NAME@", &self.name).replace("@OF@", &of))
    }

    /// The property list of a launchd agent.
    pub(super) fn agent(&self) -> Result<String, Unwritable> {
        let variables = self.variables.iter().map(|(name, value)| {
            let value = escaped(plain(value)?);
            Ok(format!(
                "\t\t<key>{name}</key>\n\t\t<string>{value}</string>"
            ))
        });
        let variables: Vec<String> = variables.collect::<Result<_, Unwritable>>()?;
        Ok(AGENT
            .replace("@NAME@", &escaped(&self.name))
            .replace("@ENVIRONMENT@", &variables.join("\n"))
            .replace("@MUXD@", &escaped(plain(&self.muxd)?))
            .replace("@LOG@", &escaped(plain(&self.log)?)))
    }
}

fn plain(path: &Path) -> Result<&str, Unwritable> {
    let text = path.to_str().filter(|text| {
        !text.chars().any(char::is_control) && text.trim() == *text && !text.is_empty()
    });
    text.ok_or_else(|| Unwritable(path.to_owned()))
}

/// One word for systemd, which knows escapes and specifiers even within quotes.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('%', "%%"))
}

/// Text of an XML element.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(muxd: &str) -> Described {
        Described {
            name: "muxd-0a1b2c3d".into(),
            muxd: muxd.into(),
            socket: "/tmp/100%/run/muxd.sock".into(),
            log: "/tmp/a & b/launchd.log".into(),
            variables: vec![("MUX_HOME", "/tmp/100% <\"mine\">".into())],
            home: Some("/tmp/100%".into()),
        }
    }

    #[test]
    fn no_place_of_a_template_is_left_empty() {
        let described = described("/opt/mux/muxd");
        for text in [
            described.service().unwrap(),
            described.socket().unwrap(),
            described.agent().unwrap(),
        ] {
            let left: Vec<&str> = text.lines().filter(|line| line.contains('@')).collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }

    #[test]
    fn systemd_reads_every_letter_as_it_is_meant() {
        let described = described("/opt/100% \"mux\"/a\\b/muxd");
        let service = described.service().unwrap();
        for line in [
            "ExecStart=\"/opt/100%% \\\"mux\\\"/a\\\\b/muxd\"",
            "Environment=\"MUX_HOME=/tmp/100%% <\\\"mine\\\">\"",
            "Requires=muxd-0a1b2c3d.socket",
            "Type=notify",
        ] {
            assert!(service.lines().any(|l| l == line), "{line}\n{service}");
        }
        let socket = described.socket().unwrap();
        assert!(
            socket.contains("\nListenStream=/tmp/100%%/run/muxd.sock\n"),
            "{socket}"
        );
    }

    #[test]
    fn launchd_reads_the_agent_as_it_is_meant() {
        let described = described("/opt/<mux> & co/muxd");
        let agent = described.agent().unwrap();
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
        // One that ends well is not started again, or `mux stop` would be in vain.
        let keep = agent["KeepAlive"].as_dictionary().unwrap();
        assert_eq!(keep["SuccessfulExit"].as_boolean(), Some(false));
        assert_eq!(agent["RunAtLoad"].as_boolean(), Some(true));
    }

    #[test]
    fn without_variables_both_files_stay_whole() {
        let mut described = described("/opt/mux/muxd");
        described.variables.clear();
        described.home = None;
        let service = described.service().unwrap();
        assert!(!service.contains("Environment"), "{service}");
        assert!(
            service.contains("Description=muxd: the sessions of your MCP servers\n"),
            "{service}"
        );
        let agent = described.agent().unwrap();
        let agent = plist::Value::from_reader_xml(agent.as_bytes()).unwrap();
        let variables = &agent.as_dictionary().unwrap()["EnvironmentVariables"];
        assert!(variables.as_dictionary().unwrap().is_empty());
    }

    #[test]
    fn what_no_file_can_say_is_refused() {
        for muxd in ["/opt/a\nExecStartPre=/bin/sh/muxd", "/opt/a\u{1}/muxd"] {
            assert!(described(muxd).service().is_err(), "{muxd:?}");
            assert!(described(muxd).agent().is_err(), "{muxd:?}");
        }
    }
}
