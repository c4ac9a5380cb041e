//! A run while it can be resumed: its program and the log of its calls.
//!
//! Invariant: a run that has ended holds no call, and none of its calls is entered after that.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};

use mux_wire::{CallTarget, Fault};

use super::{
    approval_subject::{ApprovalOwner, ApprovalSubject},
    call_journal::JournalProgram,
    call_log::{self, BegunCall, CallLog, LoggedCall},
    owner_files::OwnerFiles,
};
use mux_caller::ClientOrigin;
use mux_program::ProgramLanguage;

/// A program with all its start parameters.
#[derive(Clone, Debug)]
pub struct ProgramStart {
    pub source: Arc<str>,
    /// The client's name for the program.
    pub name: Option<Arc<str>>,
    pub language: ProgramLanguage,
    /// JSON.
    pub input: Arc<str>,
    pub wall: Duration,
    pub origin: Arc<ClientOrigin>,
}

impl ProgramStart {
    pub(super) fn to_journal_program(&self) -> JournalProgram {
        let steps = self.language == ProgramLanguage::Json;
        let wall = u64::try_from(self.wall.as_millis()).unwrap_or(u64::MAX);
        let mut program = JournalProgram::new(&self.source, steps, &self.input, wall);
        program.name = self.name.clone();
        program
    }

    pub(super) fn of(program: JournalProgram, origin: &ClientOrigin) -> Self {
        Self {
            language: if program.steps {
                ProgramLanguage::Json
            } else {
                ProgramLanguage::TypeScript
            },
            source: program.source,
            name: program.name,
            input: program.input,
            wall: Duration::from_millis(program.wall_ms),
            // The client process may be another now.
            origin: Arc::new(ClientOrigin {
                pid: None,
                uid: None,
                ..origin.clone()
            }),
        }
    }
}

#[derive(Debug)]
pub struct ResumableRun {
    pub(super) owner: ApprovalOwner,
    pub(super) began: ProgramStart,
    /// The file stem of the run that this run resumes.
    pub(super) resumes: Option<String>,
    log: Mutex<CallLog>,
    /// The files of the run, once it may have files.
    sheet: OnceLock<Arc<OwnerFiles>>,
    over: AtomicBool,
}

impl ResumableRun {
    /// Creates the state of a run that begins. The log keeps at most `most` bytes of calls.
    pub fn new(run: &str, began: ProgramStart, most: usize, past: Option<FormerRun>) -> Arc<Self> {
        let mut resumes = None;
        let mut calls = Vec::new();
        let mut sheet = OnceLock::new();
        if let Some(past) = past {
            (resumes, calls, sheet) = (Some(past.run), past.calls, past.next);
        }
        Arc::new(Self {
            owner: ApprovalOwner::Run(run.to_owned()),
            began,
            resumes,
            log: Mutex::new(CallLog::new(most, calls)),
            sheet,
            over: AtomicBool::new(false),
        })
    }

    /// Creates the state of a call outside runs, as a program that makes this call.
    pub(super) fn of_call(number: u64, subject: &ApprovalSubject, raw: bool) -> Arc<Self> {
        let began = ProgramStart {
            source: subject.program(raw).into(),
            name: None,
            language: ProgramLanguage::TypeScript,
            input: Arc::clone(&subject.arguments),
            wall: mux_sandbox::ProgramLimits::default().wall,
            origin: Arc::clone(&subject.origin),
        };
        Arc::new(Self {
            owner: ApprovalOwner::Call(number),
            began,
            resumes: None,
            log: Mutex::new(CallLog::new(0, Vec::new())),
            sheet: OnceLock::new(),
            over: AtomicBool::new(false),
        })
    }

    pub fn begin_logged_call(&self, target: &CallTarget, arguments: &Arc<str>) -> BegunCall {
        self.log().begin(target, arguments)
    }

    pub fn end_logged_call(&self, place: Option<usize>, outcome: &Result<String, Fault>) {
        if let Some(place) = place {
            self.log().end(place, outcome);
        }
    }

    /// True if the run has begun a call that the resumed run had not made.
    pub fn has_new_calls(&self) -> bool {
        self.log().has_unseen_calls()
    }

    pub(super) fn set_asked(&self, place: Option<usize>, asked: bool) {
        if let Some(place) = place {
            self.log().set_asked(place, asked);
        }
    }

    pub(super) fn files_or_insert(
        &self,
        find: impl FnOnce() -> Arc<OwnerFiles>,
    ) -> &Arc<OwnerFiles> {
        self.sheet.get_or_init(find)
    }

    /// True if the run may have files on disk.
    pub(super) fn has_files(&self) -> bool {
        self.sheet.get().is_some_and(|sheet| sheet.is_written())
    }

    /// Marks the run as ended. Must be called, like [`Self::has_ended`], under the lock of `Approvals::book`.
    pub(super) fn set_ended(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn log(&self) -> MutexGuard<'_, CallLog> {
        self.log.lock()
    }
}

/// The run that a new run resumes.
#[derive(Debug)]
pub struct FormerRun {
    /// The file stem of the former run.
    run: String,
    calls: Vec<LoggedCall>,
    /// The files of the new run.
    pub(super) next: OnceLock<Arc<OwnerFiles>>,
}

impl FormerRun {
    pub(super) fn new(run: String, calls: Vec<LoggedCall>) -> Self {
        Self {
            run,
            calls,
            next: OnceLock::new(),
        }
    }

    /// The number of calls that are not made again.
    pub fn ended_call_count(&self) -> usize {
        call_log::count_ended_calls(&self.calls)
    }

    pub fn run(&self) -> &str {
        &self.run
    }
}
