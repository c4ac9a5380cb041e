//! One compiled rule.
//!
//! Invariant: a rule with an error denies, and its invalid conditions count as met: a typo must not allow a call.

use std::{
    path::{Component, Path, PathBuf, is_separator},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use mux_messages::ProjectText;
use mux_typegen::names::spell;

use super::{
    GivenArguments, PolicyQuestion, RuleAction, ToolHints,
    argument_condition::ArgumentCondition,
    argument_test::{MAX_REGEX_BYTES, MAX_UNAPPROVED_REGEX_BYTES},
};
use mux_config::{AnnotationsEntry, PolicyEntry};
use mux_text::glob::{Glob, may_match_below};

/// The list that a rule belongs to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RuleList {
    /// `[[policy]]` of config.toml.
    Everybody,
    /// `[agents.NAME] policy`.
    Agent(String),
    /// `[[policy]]` of a project's .mux.toml.
    Project(Arc<Path>, ProjectText),
}

#[derive(Debug)]
pub struct Rule {
    /// The rule's number in the list, from 1.
    pub number: usize,
    pub list: Arc<RuleList>,
    pub action: RuleAction,
    pub(super) written: PolicyEntry,
    pub(super) paths: Vec<Glob>,
    /// `paths` as written in programs. Empty in an allow rule.
    spelled: Vec<Glob>,
    servers: Option<Vec<Glob>>,
    agents: Option<Vec<Glob>>,
    clients: Option<Vec<Glob>>,
    workspaces: Option<Vec<Glob>>,
    pub(super) arguments: Vec<ArgumentCondition>,
    mistakes: Vec<String>,
    /// How often it has decided.
    pub(super) decided: AtomicU64,
}

/// The result of matching a rule.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum RuleMatch {
    Yes,
    /// The rule asks, and whether its conditions are met depends on how the server reads the arguments. A later rule
    /// may deny.
    InDoubt,
    /// The first condition that is not met.
    No(UnmetCondition),
    /// Depends on the arguments, which have not been parsed.
    Depends,
}

/// A condition that is not met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum UnmetCondition {
    Match,
    Server,
    Agent,
    Client,
    Workspace,
    Annotations,
    Verb,
    /// The index of the condition.
    Argument(usize),
}

impl Rule {
    /// Compiles a rule and keeps its errors. `home` replaces `~`.
    pub(super) fn compile(
        written: PolicyEntry,
        number: usize,
        list: &Arc<RuleList>,
        home: &Path,
    ) -> Self {
        let mut mistakes = written.mistakes.clone();
        let action = written.action.parse().ok();
        if action.is_none() && !written.action.is_empty() {
            mistakes.push(format!(
                "action {:?} is none of allow, ask, deny",
                written.action
            ));
        }
        let globs = |texts: &[String]| texts.iter().map(|text| Glob::new(text)).collect();
        let some = |texts: &Option<Vec<String>>| texts.as_deref().map(globs);
        let workspaces = written.workspaces.as_deref().map(|texts| {
            let texts = texts.iter().map(|text| directory_glob(text, home));
            let read = texts.collect::<Result<Vec<Glob>, String>>();
            read.unwrap_or_else(|mistake| {
                mistakes.push(mistake);
                vec![Glob::new("*")]
            })
        });
        let mut arguments = Vec::new();
        let largest_regex = match **list {
            RuleList::Project(_, ProjectText::Unapproved) => MAX_UNAPPROVED_REGEX_BYTES,
            _ => MAX_REGEX_BYTES,
        };
        for (place, test) in &written.arguments {
            match ArgumentCondition::read(place, test, largest_regex) {
                Ok(condition) => arguments.push(condition),
                Err(mistake) => mistakes.push(format!("arguments: {mistake}")),
            }
        }
        let action = if mistakes.is_empty() {
            action.unwrap_or(RuleAction::Deny)
        } else {
            RuleAction::Deny
        };
        let spelled = match action {
            RuleAction::Allow => Vec::new(),
            RuleAction::Ask | RuleAction::Deny => {
                let odd = written
                    .paths
                    .iter()
                    .map(|path| (path, glob_as_spelled(path)));
                let odd = odd.filter(|(path, spelled)| *path != spelled);
                odd.map(|(_, spelled)| Glob::new(&spelled)).collect()
            }
        };
        Self {
            number,
            list: Arc::clone(list),
            action,
            paths: globs(&written.paths),
            spelled,
            servers: some(&written.servers),
            agents: some(&written.agents),
            clients: some(&written.clients),
            workspaces: workspaces.filter(|globs| !globs.iter().any(|glob| glob.as_str() == "*")),
            arguments,
            mistakes,
            written,
            decided: AtomicU64::new(0),
        }
    }

    /// The rule's conditions, for display.
    pub fn conditions(&self) -> Vec<String> {
        let list = |name: &str, texts: &Option<Vec<String>>| {
            let texts = texts.as_ref()?;
            Some(format!("{name} = {}", quoted_list(texts)))
        };
        let written = &self.written;
        let mut all: Vec<String> = [
            list("server", &written.servers),
            list("agent", &written.agents),
            list("client", &written.clients),
            list("workspace", &written.workspaces),
            list("verb", &written.verbs),
        ]
        .into_iter()
        .flatten()
        .collect();
        for (name, wanted) in annotation_hints(&written.annotations) {
            if let Some(wanted) = wanted {
                all.push(format!("annotations.{name} = {wanted}"));
            }
        }
        let arguments = written.arguments.iter();
        all.extend(arguments.map(|(place, test)| format!("arguments.{place} = {test}")));
        all
    }

    /// The globs of paths that the rule matches.
    pub fn matches(&self) -> Vec<String> {
        self.written.path_globs()
    }

    /// The action, the globs and the conditions on one line.
    pub fn summary(&self) -> String {
        let conditions = self.conditions().join(", ");
        let action = self.action.as_str();
        let globs = self.matches().join(" ");
        format!("{action} {globs} {conditions}")
            .trim_end()
            .to_owned()
    }

    /// The path globs as one string, for errors.
    pub fn text(&self) -> String {
        self.matches().join("\", \"")
    }

    /// The rule's `reason`.
    pub fn reason(&self) -> Option<&str> {
        self.written.reason.as_deref()
    }

    /// The rule's errors, because of which it denies.
    pub fn mistake(&self) -> Option<String> {
        (!self.mistakes.is_empty()).then(|| self.mistakes.join("; "))
    }

    pub fn decision_count(&self) -> u64 {
        self.decided.load(Ordering::Relaxed)
    }

    pub(super) fn reads_arguments(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// The servers that the rule names literally, if it applies to no others.
    pub(super) fn only_servers(&self) -> Option<Vec<&str>> {
        let named = self.servers.as_deref();
        let named = named.filter(|globs| globs.iter().all(Glob::is_literal));
        if let Some(named) = named {
            return Some(named.iter().map(Glob::as_str).collect());
        }
        if self.paths.is_empty() {
            return None;
        }
        let heads = self.paths.iter();
        heads
            .map(|path| Some(path.head().split_once('.')?.0))
            .collect()
    }

    /// Returns true if the rule may deny or ask for a call by this caller whose path starts with one of `heads`.
    /// These calls have no HTTP method, so rules with `verb` do not apply.
    pub(super) fn may_stop_below(&self, question: &PolicyQuestion<'_>, heads: &[String]) -> bool {
        let is_about = |glob: &Glob| {
            let mut heads = heads.iter();
            heads.any(|head| may_match_below(glob.as_str(), head))
        };
        self.action != RuleAction::Allow
            && self.written.verbs.is_none()
            && (self.paths.is_empty() || self.paths.iter().chain(&self.spelled).any(is_about))
            && self.unmet_by_caller(question).is_none()
    }

    pub(super) fn match_rule(&self, question: &PolicyQuestion<'_>) -> RuleMatch {
        let about = |path: &str| {
            let mut globs = self.paths.iter().chain(&self.spelled);
            globs.any(|glob| glob.matches(path) && question.is_named_by(glob.as_str()))
        };
        let strict = self.action != RuleAction::Allow;
        let mut spellings = question.spellings.iter().filter(|_| strict);
        let met = self.paths.is_empty()
            || about(question.path)
            || question.program_path.is_some_and(about)
            || spellings.any(|path| about(path));
        if !met || (self.paths.is_empty() && question.from_server) {
            return RuleMatch::No(UnmetCondition::Match);
        }
        if let Some(unmet) = self.unmet_by_caller(question) {
            return RuleMatch::No(unmet);
        }
        if differing_hint(&self.written.annotations, question.hints).is_some() {
            return RuleMatch::No(UnmetCondition::Annotations);
        }
        if let Some(verbs) = &self.written.verbs {
            let is = |verb: &str| verbs.iter().any(|wanted| wanted.eq_ignore_ascii_case(verb));
            if !question.verb.is_some_and(is) {
                return RuleMatch::No(UnmetCondition::Verb);
            }
        }
        self.arguments_hold(question)
    }

    /// The first condition on the server or the caller that is not met.
    fn unmet_by_caller(&self, question: &PolicyQuestion<'_>) -> Option<UnmetCondition> {
        let strict = self.action != RuleAction::Allow;
        let none_of = |globs: &Option<Vec<Glob>>, text: Option<&str>| {
            globs.as_deref().is_some_and(|globs| {
                !text.is_some_and(|text| globs.iter().any(|glob| glob.matches(text)))
            })
        };
        let server = question.server();
        let elsewhere = none_of(&self.servers, Some(server));
        let is_spelled = strict || question.program_path.is_some();
        if elsewhere && (!is_spelled || none_of(&self.servers, Some(&spell(server)))) {
            return Some(UnmetCondition::Server);
        }
        if none_of(&self.agents, question.agent) {
            return Some(UnmetCondition::Agent);
        }
        if none_of(&self.clients, Some(question.client)) {
            return Some(UnmetCondition::Client);
        }
        if let Some(globs) = &self.workspaces
            && !question
                .workspace
                .is_some_and(|dir| is_in_directories(dir, globs))
        {
            return Some(UnmetCondition::Workspace);
        }
        None
    }

    fn arguments_hold(&self, question: &PolicyQuestion<'_>) -> RuleMatch {
        if self.arguments.is_empty() {
            return RuleMatch::Yes;
        }
        match question.given {
            GivenArguments::Unread => RuleMatch::Depends,
            // Such arguments are never sent, and a caller who may be denied must not learn the error in them.
            GivenArguments::Unreadable if self.action == RuleAction::Deny => RuleMatch::Yes,
            GivenArguments::Unreadable => RuleMatch::No(UnmetCondition::Argument(0)),
            GivenArguments::Values(values) => {
                let every = self.action == RuleAction::Allow;
                let also = if every { &[] } else { question.also_given };
                let holds = |condition: &ArgumentCondition| {
                    condition.holds(values, every) || condition.is_met_by_any(also)
                };
                let mut conditions = self.arguments.iter();
                if let Some(at) = conditions.position(|condition| !holds(condition)) {
                    return RuleMatch::No(UnmetCondition::Argument(at));
                }
                let mut conditions = self.arguments.iter();
                let asks = self.action == RuleAction::Ask;
                let is_in_doubt = |condition: &ArgumentCondition| {
                    condition.is_in_doubt(values) || !condition.holds(values, every)
                };
                if asks && conditions.any(is_in_doubt) {
                    RuleMatch::InDoubt
                } else {
                    RuleMatch::Yes
                }
            }
        }
    }
}

/// The glob as programs write the path. A rule may mix both spellings.
fn glob_as_spelled(path: &str) -> String {
    let mut spelled = String::with_capacity(path.len());
    let mut in_run = false;
    for c in path.chars() {
        let fits = c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '*' | '?');
        if !fits {
            if !in_run {
                spelled.push('_');
            }
            in_run = true;
            continue;
        }
        if c.is_ascii_digit() && (spelled.is_empty() || spelled.ends_with('.')) {
            spelled.push('_');
        }
        spelled.push(c);
        in_run = false;
    }
    spelled
}

/// The glob of a directory and everything below it.
fn directory_glob(text: &str, home: &Path) -> Result<Glob, String> {
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with(is_separator) => {
            format!("{}{rest}", home.display())
        }
        _ if text.starts_with('*') || Path::new(text).is_absolute() => text.to_owned(),
        _ => return Err("`workspace` must be an absolute path or begin with ~".into()),
    };
    Ok(Glob::new(&comparable_directory(&path)))
}

/// Returns true if the directory, or one above it, matches.
fn is_in_directories(directory: &Path, globs: &[Glob]) -> bool {
    let mut plain = PathBuf::new();
    for part in directory.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    let mut all = plain.ancestors();
    all.any(|dir| {
        let dir = comparable_directory(&dir.to_string_lossy());
        globs.iter().any(|glob| glob.matches(&dir))
    })
}

/// A directory or a directory glob without slashes at its end. On Windows, where paths have several spellings: in
/// lower case, with slashes, and without the `\\?\` that makes a path verbatim.
fn comparable_directory(path: &str) -> String {
    let path = if cfg!(windows) {
        let path = path.strip_prefix(r"\\?\").unwrap_or(path);
        path.replace('\\', "/").to_lowercase()
    } else {
        path.to_owned()
    };
    match path.trim_end_matches('/') {
        "" => "/".into(),
        path => path.into(),
    }
}

/// The first annotation that is not as the rule requires, with the tool's value.
pub(super) fn differing_hint(
    wanted: &AnnotationsEntry,
    hints: ToolHints,
) -> Option<(&'static str, Option<bool>)> {
    let found = [
        Some(hints.is_read_only()),
        hints.is_destructive(),
        Some(hints.is_idempotent()),
        hints.open_world,
    ];
    let mut pairs = annotation_hints(wanted).into_iter().zip(found);
    let differs = pairs.find(|((_, wanted), found)| wanted.is_some() && wanted != found);
    differs.map(|((name, _), found)| (name, found))
}

/// The annotations with the value that a rule requires.
fn annotation_hints(entry: &AnnotationsEntry) -> [(&'static str, Option<bool>); 4] {
    [
        ("read_only", entry.read_only),
        ("destructive", entry.destructive),
        ("idempotent", entry.idempotent),
        ("open_world", entry.open_world),
    ]
}

pub(super) fn quoted_list(texts: &[String]) -> String {
    match texts {
        [only] => format!("{only:?}"),
        several => format!("{several:?}"),
    }
}
