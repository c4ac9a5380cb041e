//! The observations, as a table in Markdown.

use mux_tests::real_agents::{BadServers, MuxSession, Probe, Profile, Shows};

pub(crate) struct Row {
    pub(crate) profile: Profile,
    pub(crate) version: String,
    pub(crate) probe: Probe,
    pub(crate) session: MuxSession,
    pub(crate) beside_bad: BadServers,
}

const HEAD: &str = "\
| agent | tool description | parameter description | instructions | text and structured content | shown of an error | \
longest result | images | notices new tools | elicitation | `mux mcp` |
|---|---|---|---|---|---|---|---|---|---|---|
";

pub(crate) fn markdown(rows: &[Row], date: &str) -> String {
    let lines: String = rows.iter().map(Row::line).collect();
    format!(
        "Seen on {date} in the agents' own programs. Lengths are in characters.\n\n{HEAD}{lines}"
    )
}

impl Row {
    fn line(&self) -> String {
        let probe = &self.probe;
        let cells = [
            format!("{} {}", self.profile.title, self.version),
            self.description(),
            length(probe.parameter.chars),
            length(probe.instructions.chars),
            shows(probe.shows),
            shows(probe.shows_errors),
            self.result(),
            yes_or_no(self.session.has_image),
            yes_or_no(probe.follows_list_changes),
            self.questions(),
            self.mux(),
        ];
        format!("| {} |\n", cells.join(" | "))
    }

    fn description(&self) -> String {
        let whole = length(self.probe.description.chars);
        match (self.probe.is_deferred, self.probe.preview.chars) {
            (false, _) => whole,
            (true, preview) if preview < self.probe.description.chars => {
                format!("{whole}, after a search; {} before", thousands(preview))
            }
            (true, _) => format!("{whole}, after a search"),
        }
    }

    fn result(&self) -> String {
        match self.probe.longest_result() {
            (fits, true) => format!("up to {}", thousands(fits)),
            (sent, false) => format!("less than {}", thousands(sent)),
        }
    }

    fn questions(&self) -> String {
        let mut all = self.probe.elicitation();
        all.extend(self.probe.can_sample().then(|| "sampling".to_owned()));
        if all.is_empty() {
            "none".to_owned()
        } else {
            all.join(", ")
        }
    }

    fn mux(&self) -> String {
        let problems = self.session.problems.len() + self.beside_bad.problems.len();
        match problems {
            0 => "works".to_owned(),
            1 => "1 problem".to_owned(),
            _ => format!("{problems} problems"),
        }
    }
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

fn length(chars: usize) -> String {
    match chars {
        0 => "none".to_owned(),
        Probe::LONG_CHARS => "whole".to_owned(),
        chars => thousands(chars),
    }
}

fn shows(shows: Option<Shows>) -> String {
    shows.map_or("neither".to_owned(), |it| format!("{it:?}").to_lowercase())
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev();
    let parts = parts.map(|part| String::from_utf8_lossy(part));
    parts.collect::<Vec<_>>().join(",")
}
