//! Three clients with the same servers: both SDKs and muxd.
//!
//! Invariant: muxd is only called worse after a second try without load. A slow machine is therefore not a
//! failure.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    fs,
    path::Path,
};

use super::{
    case::{Case, Subject},
    daemon::outcomes_of_muxd,
    http::routes,
    outcome::Outcome,
    sdks::{Limits, Sdk, Servers},
};
use crate::web::Web;

/// An SDK is not tried twice, so it gets more time at first.
const SDK_LIMITS: Limits = Limits {
    at_once: 32,
    seconds: 8,
};
const LIMITS: Limits = Limits {
    at_once: 32,
    seconds: 3,
};
/// Words of a parser or of Rust, which no user should read in an error.
const INTERNAL_WORDS: [&str; 8] = [
    "invalid type",
    "invalid value",
    "invalid length",
    "missing field",
    "unknown variant",
    "expected value",
    "at line ",
    "Some(",
];
/// For servers that muxd is tried with again.
const PATIENT: Limits = Limits {
    at_once: 8,
    seconds: 12,
};

/// How muxd compares with the SDKs, in numbers of subjects.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Figures {
    pub tried: usize,
    pub agreed: usize,
    pub better_than_one: usize,
    pub better_than_both: usize,
    pub worse_than_one: usize,
    pub worse_than_both: usize,
    /// Worse than a handwritten case requires.
    pub below_minimum: usize,
}

pub struct Comparison {
    pub figures: Figures,
    pub failures: Vec<Failure>,
    /// The names of subjects with which muxd reaches more than both SDKs.
    pub better: Vec<String>,
}

/// A server with which muxd reaches less than it should.
pub struct Failure {
    pub subject: Subject,
    /// The missing results, by the client that has them.
    pub missing: Vec<(&'static str, String)>,
    pub error: Option<String>,
}

impl Comparison {
    /// Tries all subjects with all clients.
    pub fn of(subjects: &[Subject]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let web = Web::open(routes(subjects));
        let servers = Servers {
            url: &web.url,
            folder: folder.path(),
        };
        for subject in subjects {
            let case = serde_json::to_string(&subject.case).unwrap();
            fs::write(servers.case_file(subject), case).unwrap();
        }
        let running = Sdk::ALL.map(|sdk| sdk.start(&servers, subjects, SDK_LIMITS));
        let mut muxd = outcomes_of_muxd(&servers, subjects, LIMITS);
        let sdks = running.map(|sdk| sdk.join().unwrap());
        let is_failure = |subject: &&Subject| Verdict::of(subject, &muxd, &sdks).is_failure();
        let failed: Vec<Subject> = subjects.iter().filter(is_failure).cloned().collect();
        muxd.extend(outcomes_of_muxd(&servers, &failed, PATIENT));
        Self::from_outcomes(subjects, &muxd, &sdks)
    }

    /// Writes each failure as a case, in a form that can be copied to the handwritten ones.
    pub fn write_failures(&self, folder: &Path) {
        drop(fs::remove_dir_all(folder));
        fs::create_dir_all(folder).unwrap();
        for failure in &self.failures {
            let case = Case {
                expected: failure.to_string(),
                name: String::new(),
                ..failure.subject.case.clone()
            };
            let file = folder.join(format!("{}.toml", failure.subject.name()));
            fs::write(file, toml::to_string_pretty(&case).unwrap()).unwrap();
        }
    }

    fn from_outcomes(
        subjects: &[Subject],
        muxd: &HashMap<String, Outcome>,
        sdks: &[HashMap<String, Outcome>; 2],
    ) -> Self {
        let mut figures = Figures::default();
        let mut failures = Vec::new();
        let mut better = Vec::new();
        for subject in subjects {
            let verdict = Verdict::of(subject, muxd, sdks);
            figures.count(&verdict);
            if verdict.better_than == Sdk::ALL.len() {
                better.push(subject.name());
            }
            if verdict.is_failure() {
                failures.push(Failure {
                    subject: subject.clone(),
                    missing: verdict.missing,
                    error: muxd[&subject.name()].error.clone(),
                });
            }
        }
        Self {
            figures,
            failures,
            better,
        }
    }
}

struct Verdict {
    worse_than: usize,
    better_than: usize,
    is_below_minimum: bool,
    missing: Vec<(&'static str, String)>,
}

impl Verdict {
    fn of(
        subject: &Subject,
        muxd: &HashMap<String, Outcome>,
        sdks: &[HashMap<String, Outcome>; 2],
    ) -> Self {
        let name = subject.name();
        let absent = Outcome::default();
        let mine = &muxd[&name];
        // A client that hangs prints no line, and has reached nothing.
        let [typescript, python] = sdks.each_ref().map(|all| all.get(&name).unwrap_or(&absent));
        let mut verdict = Self {
            worse_than: 0,
            better_than: 0,
            is_below_minimum: false,
            missing: Vec::new(),
        };
        for (sdk, theirs, others) in [
            (Sdk::TypeScript, typescript, python),
            (Sdk::Python, python, typescript),
        ] {
            // The SDKs read the answer in two ways, and one of them is that of muxd.
            let is_read_differently = theirs.answer.is_some() && reads_like(mine, others);
            let missing = if is_read_differently || theirs.forbids_call() {
                let without_answer = Outcome {
                    answer: None,
                    error: None,
                    ..theirs.clone()
                };
                mine.shortfalls(&without_answer)
            } else {
                mine.shortfalls(theirs)
            };
            if !missing.is_empty() {
                verdict.worse_than += 1;
                let named = missing.into_iter().map(|what| (sdk.as_str(), what));
                verdict.missing.extend(named);
            } else if !theirs.shortfalls(mine).is_empty() {
                verdict.better_than += 1;
            }
        }
        if let Some(minimum) = &subject.case.at_least {
            let missing = mine.shortfalls_of_minimum(minimum);
            verdict.is_below_minimum = !missing.is_empty();
            let named = missing.into_iter().map(|what| ("the case", what));
            verdict.missing.extend(named);
        }
        let error = mine.error.as_deref().unwrap_or_default();
        if let Some(word) = INTERNAL_WORDS.iter().find(|word| error.contains(**word)) {
            verdict.is_below_minimum = true;
            let what = format!("an error without the word {word:?}");
            verdict.missing.push(("a user", what));
        }
        verdict
    }

    fn is_failure(&self) -> bool {
        self.worse_than > 0 || self.is_below_minimum
    }
}

/// Returns true if muxd's answer has all that an SDK's answer has.
fn reads_like(mine: &Outcome, theirs: &Outcome) -> bool {
    match (&mine.answer, &theirs.answer) {
        (Some(mine), Some(theirs)) => mine.shortfalls(theirs).is_empty(),
        _ => false,
    }
}

impl Figures {
    fn count(&mut self, verdict: &Verdict) {
        self.tried += 1;
        let of = match (verdict.worse_than, verdict.better_than) {
            (0, 0) => &mut self.agreed,
            (0, 1) => &mut self.better_than_one,
            (0, _) => &mut self.better_than_both,
            (1, _) => &mut self.worse_than_one,
            _ => &mut self.worse_than_both,
        };
        *of += 1;
        self.below_minimum += usize::from(verdict.is_below_minimum);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} servers tried: {} alike, {} better than one SDK, {} better than both, {} worse than one, \
             {} worse than both, {} below the minimum of their case",
            self.tried,
            self.agreed,
            self.better_than_one,
            self.better_than_both,
            self.worse_than_one,
            self.worse_than_both,
            self.below_minimum
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (who, what) in &self.missing {
            write!(text, "{what} ({who} has it); ")?;
        }
        let error = self.error.as_deref().unwrap_or("no error");
        write!(f, "{}: {text}muxd: {error}", self.subject.name())
    }
}
