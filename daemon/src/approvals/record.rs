//! What is kept of a run as long as a call of it waits for an answer: enough to run it again.
//!
//! Invariant: a record that stands on the disk names every call that may have been sent. It is written before a call
//! goes out, and it is gone before the last call goes out for which it stood: then there is nothing to go on with.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mux_sandbox::{Fault, Target};
use serde::{Deserialize, Serialize};

use super::{
    log::{self, Begun, Entry, Log},
    subject::{Cover, Owner, State, Subject, Verdict, View},
};
use crate::{cache::Key, notices::Origin, own_file, program::Language};

const VERSION: u32 = 1;
/// A program, its input and its log have their own limits, which together are less.
const LONGEST: u64 = 64 << 20;
const SUFFIX: &str = "json";

/// A program with everything that it began with.
#[derive(Clone, Debug)]
pub struct Began {
    pub source: String,
    pub language: Language,
    /// JSON text.
    pub input: String,
    pub wall: Duration,
    pub origin: Arc<Origin>,
}

/// A run, for as long as it may have to be run again.
#[derive(Debug)]
pub struct Dossier {
    pub(super) owner: Owner,
    began: Began,
    /// The run that this one goes on with.
    resumes: Option<String>,
    log: Mutex<Log>,
    /// Something of it stands on the disk.
    recorded: AtomicBool,
    /// Held by whoever writes.
    writing: Mutex<()>,
}

impl Dossier {
    /// Of a run that begins. At most so many bytes of calls are kept.
    pub fn new(run: &str, began: Began, most: usize, past: Option<Past>) -> Arc<Self> {
        let (resumes, calls) = match past {
            Some(past) => (Some(past.run), past.calls),
            None => (None, Vec::new()),
        };
        Arc::new(Self {
            owner: Owner::Run(run.to_owned()),
            began,
            recorded: AtomicBool::new(resumes.is_some()),
            resumes,
            log: Mutex::new(Log::new(most, calls)),
            writing: Mutex::default(),
        })
    }

    /// Of a call outside of runs, as the program that makes it.
    pub(super) fn of_call(number: u64, subject: &Subject, raw: bool) -> Arc<Self> {
        let began = Began {
            source: subject.program(raw),
            language: Language::TypeScript,
            input: subject.arguments.as_ref().to_owned(),
            wall: mux_sandbox::Limits::default().wall,
            origin: Arc::clone(&subject.origin),
        };
        Arc::new(Self {
            owner: Owner::Call(number),
            began,
            resumes: None,
            log: Mutex::new(Log::new(0, Vec::new())),
            recorded: AtomicBool::new(false),
            writing: Mutex::default(),
        })
    }

    pub fn begin(&self, target: &Target, arguments: &str) -> Begun {
        self.log().begin(target, arguments)
    }

    pub fn end(&self, place: Option<usize>, outcome: &Result<String, Fault>) {
        if let Some(place) = place {
            self.log().end(place, outcome);
        }
    }

    pub(super) fn set_asked(&self, place: Option<usize>, asked: bool) {
        if let Some(place) = place {
            self.log().set_asked(place, asked);
        }
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.recorded.load(Ordering::Acquire)
    }

    /// Makes the disk say what is so. `approvals` are those of this run at the moment at which it is asked.
    pub(super) fn write(
        &self,
        folder: &Path,
        approvals: impl FnOnce() -> Vec<View>,
    ) -> io::Result<()> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let approvals = approvals();
        let path = place(folder, &self.owner.stem());
        if approvals.is_empty() {
            if self.is_recorded() {
                own_file::remove(&path)?;
                self.forget_former(folder)?;
                self.recorded.store(false, Ordering::Release);
            }
            return Ok(());
        }
        self.recorded.store(true, Ordering::Release);
        let calls = match self.owner {
            Owner::Run(_) => self.log().all(),
            Owner::Call(_) => Some(Vec::new()),
        };
        let record = Record {
            version: VERSION,
            run: self.owner.run().map(str::to_owned),
            resumes: self.resumes.clone(),
            source: self.began.source.clone(),
            steps: self.began.language == Language::Json,
            input: self.began.input.clone(),
            wall_ms: u64::try_from(self.began.wall.as_millis()).unwrap_or(u64::MAX),
            client: self.began.origin.client.clone(),
            agent: self.began.origin.agent.clone(),
            workspace: self.began.origin.workspace.clone(),
            calls,
            approvals: approvals.iter().map(Stored::of).collect(),
        };
        save(&path, &record)?;
        self.forget_former(folder)
    }

    /// This record stands for that of the run that it goes on with.
    fn forget_former(&self, folder: &Path) -> io::Result<()> {
        match &self.resumes {
            Some(former) => own_file::remove(&place(folder, former)),
            None => Ok(()),
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a run goes on with.
#[derive(Debug)]
pub struct Past {
    /// What the record of the former one is called.
    run: String,
    calls: Vec<Entry>,
}

impl Past {
    /// Calls that are not made again.
    pub fn ended(&self) -> usize {
        log::ended(&self.calls)
    }

    pub fn run(&self) -> &str {
        &self.run
    }
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Record {
    version: u32,
    #[serde(default)]
    run: Option<String>,
    #[serde(default)]
    resumes: Option<String>,
    source: String,
    /// It is a program of steps.
    #[serde(default)]
    steps: bool,
    input: String,
    wall_ms: u64,
    client: String,
    agent: Option<String>,
    workspace: Option<PathBuf>,
    /// `None`: more than may be kept.
    calls: Option<Vec<Entry>>,
    approvals: Vec<Stored>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Stored {
    number: u64,
    path: String,
    cover: String,
    arguments: String,
    same: String,
    rule: String,
    reason: Option<String>,
    since_ms: u64,
    /// Nobody has answered, if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Approved,
    Denied(Option<String>),
}

impl Stored {
    fn of(view: &View) -> Self {
        let since = view.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let subject = &view.subject;
        Self {
            number: view.number,
            path: subject.path.clone(),
            cover: subject.cover.hex(),
            arguments: subject.arguments.as_ref().to_owned(),
            same: blake3::Hash::from(subject.same).to_hex().to_string(),
            rule: subject.rule.clone(),
            reason: subject.reason.clone(),
            since_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            answer: match &view.state {
                State::Waiting | State::Pending => None,
                State::Answered(Verdict::Approved) => Some(Answer::Approved),
                State::Answered(Verdict::Denied { reason }) => Some(Answer::Denied(reason.clone())),
            },
        }
    }

    fn view(self, owner: &Owner, origin: &Arc<Origin>) -> Option<View> {
        let same: Key = blake3::Hash::from_hex(&self.same).ok()?.into();
        let subject = Subject {
            cover: Cover::of_hex(&self.cover)?,
            path: self.path,
            arguments: self.arguments.into(),
            same,
            rule: self.rule,
            reason: self.reason,
            origin: Arc::clone(origin),
            is_offer: false,
        };
        Some(View {
            number: self.number,
            subject: Arc::new(subject),
            owner: owner.clone(),
            state: match self.answer {
                None => State::Pending,
                Some(Answer::Approved) => State::Answered(Verdict::Approved),
                Some(Answer::Denied(reason)) => State::Answered(Verdict::Denied { reason }),
            },
            since: UNIX_EPOCH + Duration::from_millis(self.since_ms.min(1 << 45)),
        })
    }
}

impl Record {
    fn owner(&self) -> Option<Owner> {
        match (&self.run, self.approvals.first()) {
            (Some(run), _) => Some(Owner::Run(run.clone())),
            (None, Some(first)) => Some(Owner::Call(first.number)),
            (None, None) => None,
        }
    }

    /// What may go on, and with what; `None` if its log became too long to be kept.
    pub(super) fn resume(self, owner: &Owner) -> (Began, Option<Past>) {
        let began = Began {
            source: self.source,
            language: match self.steps {
                true => Language::Json,
                false => Language::TypeScript,
            },
            input: self.input,
            wall: Duration::from_millis(self.wall_ms),
            origin: Arc::new(Origin {
                client: self.client,
                agent: self.agent,
                workspace: self.workspace,
                ..Origin::default()
            }),
        };
        let run = owner.stem();
        (began, self.calls.map(|calls| Past { run, calls }))
    }
}

pub(super) fn place(folder: &Path, stem: &str) -> PathBuf {
    folder.join(format!("{stem}.{SUFFIX}"))
}

fn save(path: &Path, record: &Record) -> io::Result<()> {
    let text = serde_json::to_string(record).map_err(io::Error::other)?;
    own_file::write(path, text.as_bytes())
}

pub(super) fn read(folder: &Path, owner: &Owner) -> io::Result<Option<Record>> {
    parsed(&place(folder, &owner.stem()))
}

fn parsed(path: &Path) -> io::Result<Option<Record>> {
    let Some(text) = own_file::read(path, LONGEST)? else {
        return Ok(None);
    };
    let record: Record = serde_json::from_str(&text)?;
    match record.version {
        VERSION => Ok(Some(record)),
        other => Err(io::Error::other(format!("it is of version {other}"))),
    }
}

/// Writes what became of the approvals of a run that has ended.
pub(super) fn amend(folder: &Path, owner: &Owner, approvals: &[View]) -> io::Result<()> {
    let path = place(folder, &owner.stem());
    if approvals.is_empty() {
        return own_file::remove(&path);
    }
    match parsed(&path)? {
        Some(mut record) => {
            record.approvals = approvals.iter().map(Stored::of).collect();
            save(&path, &record)
        }
        None => Err(io::Error::other("its record is gone")),
    }
}

/// All approvals of an earlier life, those that are too old left out, and what could not be read.
pub(super) fn restore(folder: &Path, keep: Duration) -> (Vec<View>, Vec<String>) {
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.extension().is_none_or(|end| end != SUFFIX) {
            continue;
        }
        match parsed(&path) {
            Ok(Some(record)) => records.push((path, record)),
            Ok(None) => {}
            Err(error) => {
                problems.push(format!("{} is no record of a run: {error}", path.display()))
            }
        }
    }
    // One that was being replaced when the daemon died.
    let replaced: Vec<PathBuf> = records
        .iter()
        .filter_map(|(_, record)| Some(place(folder, record.resumes.as_ref()?)))
        .collect();
    let mut views = Vec::new();
    for (path, record) in records {
        let Some(owner) = record.owner().filter(|_| !replaced.contains(&path)) else {
            drop(own_file::remove(&path));
            continue;
        };
        let origin = Arc::new(Origin {
            client: record.client,
            agent: record.agent,
            workspace: record.workspace,
            ..Origin::default()
        });
        let own = record.approvals.into_iter();
        let mut own: Vec<View> = own
            .filter_map(|stored| stored.view(&owner, &origin))
            .collect();
        own.retain(|view| {
            SystemTime::now()
                .duration_since(view.since)
                .is_ok_and(|age| age <= keep)
        });
        if own.is_empty() {
            drop(own_file::remove(&path));
        }
        views.append(&mut own);
    }
    (views, problems)
}
