//! The files of one owner: the record of its waiting approvals and the journal of its calls.
//!
//! Invariant: there is one writer at a time, and it writes the current state, so it does not matter who writes or how
//! often. The journal is created before the record and removed after it, because a record without a journal cannot be
//! resumed, and a journal without a record is ignored.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;

use super::{
    approval_record,
    approval_subject::{AnswerStatus, ApprovalOwner, ApprovalSnapshot, ApprovalVerdict},
    call_journal::{self, CallJournal, JournalProgram},
    call_log::LoggedCall,
    resumable_run::ResumableRun,
};
use mux_files::atomic_file;

/// The [`OwnerFiles`] in use, one for each owner.
#[derive(Debug)]
pub(super) struct OwnerFilesTable {
    folder: PathBuf,
    open: Mutex<HashMap<ApprovalOwner, Weak<OwnerFiles>>>,
}

impl OwnerFilesTable {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            open: Mutex::default(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn owner_files_of(&self, owner: &ApprovalOwner) -> Arc<OwnerFiles> {
        let mut open = self.open.lock();
        if let Some(sheet) = open.get(owner).and_then(Weak::upgrade) {
            return sheet;
        }
        open.retain(|_, sheet| sheet.strong_count() > 0);
        let sheet = Arc::new(OwnerFiles::new(&self.folder, owner));
        open.insert(owner.clone(), Arc::downgrade(&sheet));
        sheet
    }
}

/// The calls in a journal. `None` if they exceeded the log limit.
pub(super) type JournaledCalls = Option<Vec<LoggedCall>>;

#[derive(Debug)]
pub(super) struct OwnerFiles {
    owner: ApprovalOwner,
    record: PathBuf,
    journal: PathBuf,
    /// Set if there may be files on disk.
    written: AtomicBool,
    /// Set if the resumed run is about to write the files itself.
    awaited: AtomicBool,
    state: Mutex<OnDiskState>,
}

/// The state that `OwnerFiles::state` guards.
#[derive(Debug, Default)]
struct OnDiskState {
    journal: Option<CallJournal>,
    /// The approvals in the record on disk, if known.
    approvals: Option<Vec<(u64, Option<ApprovalVerdict>)>>,
    /// Set once the files of the resumed run were removed.
    former_gone: bool,
}

impl OwnerFiles {
    fn new(folder: &Path, owner: &ApprovalOwner) -> Self {
        let stem = owner.stem();
        Self {
            owner: owner.clone(),
            record: approval_record::record_path(folder, &stem),
            journal: journal_path(folder, &stem),
            written: AtomicBool::new(false),
            awaited: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    pub(super) fn is_written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }

    pub(super) fn set_awaited(&self) {
        self.awaited.store(true, Ordering::Release);
    }

    /// Writes the current state of a live run. `approvals` returns its approvals at the time of the call. `durable`
    /// syncs the journal.
    pub(super) fn write(
        &self,
        resumable: &ResumableRun,
        approvals: impl FnOnce() -> Vec<ApprovalSnapshot>,
        durable: bool,
    ) -> io::Result<()> {
        let mut on_disk = self.state.lock();
        let approvals = approvals();
        if approvals.is_empty() {
            resumable.log().reset_journal_position();
            self.remove_both(&mut on_disk)?;
            return self.remove_former(&mut on_disk, resumable.resumes.as_deref());
        }
        self.written.store(true, Ordering::Release);
        let kept = self.append_journal(&mut on_disk, resumable, durable);
        if kept.is_err() {
            // The content is unknown now: the next write creates a new journal.
            on_disk.journal = None;
        }
        kept?;
        self.save_approvals(&mut on_disk, &approvals, resumable.resumes.as_deref())?;
        self.awaited.store(false, Ordering::Release);
        self.remove_former(&mut on_disk, resumable.resumes.as_deref())
    }

    fn append_journal(
        &self,
        on_disk: &mut OnDiskState,
        resumable: &ResumableRun,
        durable: bool,
    ) -> io::Result<()> {
        let Some(journal) = &mut on_disk.journal else {
            let calls = match self.owner {
                ApprovalOwner::Run(_) => resumable.log().all_lines(),
                // No call precedes the held one.
                ApprovalOwner::Call(_) => Vec::new(),
            };
            let created =
                CallJournal::create(&self.journal, resumable.began.to_journal_program(), &calls)?;
            on_disk.journal = Some(created);
            return Ok(());
        };
        let changes = resumable.log().unwritten_lines();
        journal.append(&changes)?;
        if durable { journal.sync() } else { Ok(()) }
    }

    /// Updates the approvals in the record of a run that is not live. The journal stays unchanged.
    pub(super) fn amend_record(
        &self,
        approvals: impl FnOnce() -> Vec<ApprovalSnapshot>,
    ) -> io::Result<()> {
        let mut on_disk = self.state.lock();
        let approvals = approvals();
        if approvals.is_empty() {
            return self.remove_both(&mut on_disk);
        }
        if self.awaited.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.record.try_exists()? {
            self.save_approvals(&mut on_disk, &approvals, None)
        } else {
            Err(io::Error::other("the record is missing"))
        }
    }

    fn save_approvals(
        &self,
        on_disk: &mut OnDiskState,
        approvals: &[ApprovalSnapshot],
        resumes: Option<&str>,
    ) -> io::Result<()> {
        let now = || {
            approvals
                .iter()
                .map(|view| (view.number, used_verdict(view).cloned()))
        };
        if on_disk
            .approvals
            .as_ref()
            .is_some_and(|known| known.iter().cloned().eq(now()))
        {
            return Ok(());
        }
        on_disk.approvals = None;
        approval_record::save_record(&self.record, &self.owner, approvals, resumes)?;
        on_disk.approvals = Some(now().collect());
        Ok(())
    }

    fn remove_both(&self, on_disk: &mut OnDiskState) -> io::Result<()> {
        (on_disk.journal, on_disk.approvals) = (None, None);
        atomic_file::remove(&self.record)?;
        // A journal without a record is ignored, and the next start removes it.
        drop(std::fs::remove_file(&self.journal));
        self.written.store(false, Ordering::Release);
        self.awaited.store(false, Ordering::Release);
        Ok(())
    }

    /// Removes the files of the run that this run resumes, because these files replace them.
    fn remove_former(&self, on_disk: &mut OnDiskState, former: Option<&str>) -> io::Result<()> {
        if !on_disk.former_gone
            && let (Some(former), Some(folder)) = (former, self.record.parent())
        {
            atomic_file::remove(&approval_record::record_path(folder, former))?;
            drop(std::fs::remove_file(journal_path(folder, former)));
            on_disk.former_gone = true;
        }
        Ok(())
    }

    /// The program of the run and its calls. `None` if there is no journal.
    pub(super) fn read(&self) -> io::Result<Option<(JournalProgram, JournaledCalls)>> {
        let _turn = self.state.lock();
        call_journal::read_journal(&self.journal)
    }
}

/// The verdict that a record stores for an approval, if it was answered.
fn used_verdict(view: &ApprovalSnapshot) -> Option<&ApprovalVerdict> {
    match &view.state {
        AnswerStatus::Answered(verdict) => Some(verdict),
        AnswerStatus::Waiting | AnswerStatus::Pending => None,
    }
}

pub(super) fn journal_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join(format!("{stem}.{}", approval_record::JOURNAL_EXTENSION))
}
