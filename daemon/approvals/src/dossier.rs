//! A run, for as long as it may have to be run again: what it began with, and what it did.
//!
//! Invariant: a run that is over holds no call any more, and nothing of it is entered after that.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mux_wire::{Fault, Target};

use super::{
    journal::Program,
    log::{self, Begun, Entry, Log},
    sheet::Sheet,
    subject::{Owner, Subject},
};
use mux_caller::Origin;
use mux_program::Language;

/// A program with everything that it began with.
#[derive(Clone, Debug)]
pub struct Began {
    pub source: Arc<str>,
    pub language: Language,
    /// JSON text.
    pub input: Arc<str>,
    pub wall: Duration,
    pub origin: Arc<Origin>,
}

impl Began {
    pub(super) fn written(&self) -> Program {
        let steps = self.language == Language::Json;
        let wall = u64::try_from(self.wall.as_millis()).unwrap_or(u64::MAX);
        Program::new(&self.source, steps, &self.input, wall)
    }

    pub(super) fn of(program: Program, origin: &Origin) -> Self {
        Self {
            language: match program.steps {
                true => Language::Json,
                false => Language::TypeScript,
            },
            source: program.source,
            input: program.input,
            wall: Duration::from_millis(program.wall_ms),
            // The process is another one.
            origin: Arc::new(Origin {
                pid: None,
                uid: None,
                ..origin.clone()
            }),
        }
    }
}

#[derive(Debug)]
pub struct Dossier {
    pub(super) owner: Owner,
    pub(super) began: Began,
    /// What the files of the run are called with which this one goes on.
    pub(super) resumes: Option<String>,
    log: Mutex<Log>,
    /// Its files, once there may be any.
    sheet: OnceLock<Arc<Sheet>>,
    over: AtomicBool,
}

impl Dossier {
    /// Of a run that begins. At most so many bytes of calls are kept.
    pub fn new(run: &str, began: Began, most: usize, past: Option<Past>) -> Arc<Self> {
        let (mut resumes, mut calls, mut sheet) = (None, Vec::new(), OnceLock::new());
        if let Some(past) = past {
            (resumes, calls, sheet) = (Some(past.run), past.calls, past.next);
        }
        Arc::new(Self {
            owner: Owner::Run(run.to_owned()),
            began,
            resumes,
            log: Mutex::new(Log::new(most, calls)),
            sheet,
            over: AtomicBool::new(false),
        })
    }

    /// Of a call outside of runs, as the program that makes it.
    pub(super) fn of_call(number: u64, subject: &Subject, raw: bool) -> Arc<Self> {
        let began = Began {
            source: subject.program(raw).into(),
            language: Language::TypeScript,
            input: Arc::clone(&subject.arguments),
            wall: mux_sandbox::Limits::default().wall,
            origin: Arc::clone(&subject.origin),
        };
        Arc::new(Self {
            owner: Owner::Call(number),
            began,
            resumes: None,
            log: Mutex::new(Log::new(0, Vec::new())),
            sheet: OnceLock::new(),
            over: AtomicBool::new(false),
        })
    }

    pub fn begin(&self, target: &Target, arguments: &Arc<str>) -> Begun {
        self.log().begin(target, arguments)
    }

    pub fn end(&self, place: Option<usize>, outcome: &Result<String, Fault>) {
        if let Some(place) = place {
            self.log().end(place, outcome);
        }
    }

    /// Whether it has begun a call that the run with which it goes on had not made.
    pub fn has_news(&self) -> bool {
        self.log().has_news()
    }

    pub(super) fn set_asked(&self, place: Option<usize>, asked: bool) {
        if let Some(place) = place {
            self.log().set_asked(place, asked);
        }
    }

    pub(super) fn sheet(&self, find: impl FnOnce() -> Arc<Sheet>) -> &Arc<Sheet> {
        self.sheet.get_or_init(find)
    }

    /// Something of it stands on the disk, or may.
    pub(super) fn is_recorded(&self) -> bool {
        self.sheet.get().is_some_and(|sheet| sheet.is_written())
    }

    /// To be said, and asked, under the lock of the book.
    pub(super) fn set_over(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a run goes on with.
#[derive(Debug)]
pub struct Past {
    /// What the files of the former one are called.
    run: String,
    calls: Vec<Entry>,
    /// The files of the one that goes on.
    pub(super) next: OnceLock<Arc<Sheet>>,
}

impl Past {
    pub(super) fn new(run: String, calls: Vec<Entry>) -> Self {
        Self {
            run,
            calls,
            next: OnceLock::new(),
        }
    }

    /// Calls that are not made again.
    pub fn ended(&self) -> usize {
        log::ended(&self.calls)
    }

    pub fn run(&self) -> &str {
        &self.run
    }
}
