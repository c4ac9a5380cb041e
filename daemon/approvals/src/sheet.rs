//! The files of one owner: the record of what waits, and the journal of what was done.
//!
//! Invariant: one writer at a time, who writes what is so at that moment; so it does not matter who writes, or how
//! often. The journal is there before the record, and is gone after it: a record alone is of no use to anybody, and a
//! journal alone is nothing.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    dossier::Dossier,
    journal::{self, Journal, Program},
    log::Entry,
    record,
    subject::{Owner, State, Verdict, View},
};
use mux_files::atomic_file;

/// Those that somebody has to do with.
#[derive(Debug)]
pub(super) struct Sheets {
    folder: PathBuf,
    open: Mutex<HashMap<Owner, Weak<Sheet>>>,
}

impl Sheets {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            open: Mutex::default(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn of(&self, owner: &Owner) -> Arc<Sheet> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sheet) = open.get(owner).and_then(Weak::upgrade) {
            return sheet;
        }
        open.retain(|_, sheet| sheet.strong_count() > 0);
        let sheet = Arc::new(Sheet::new(&self.folder, owner));
        open.insert(owner.clone(), Arc::downgrade(&sheet));
        sheet
    }
}

/// The calls that a journal names; `None`: more than may be kept.
pub(super) type Calls = Option<Vec<Entry>>;

#[derive(Debug)]
pub(super) struct Sheet {
    owner: Owner,
    record: PathBuf,
    journal: PathBuf,
    /// It may be that something stands on the disk.
    written: AtomicBool,
    /// Its run will write it in a moment.
    awaited: AtomicBool,
    state: Mutex<OnDisk>,
}

/// Guarded by `Sheet::state`.
#[derive(Debug, Default)]
struct OnDisk {
    journal: Option<Journal>,
    /// As the record has them, if that is known.
    approvals: Option<Vec<(u64, Option<Verdict>)>>,
    /// Nothing is left of the run with which this one goes on.
    former_gone: bool,
}

impl Sheet {
    fn new(folder: &Path, owner: &Owner) -> Self {
        let stem = owner.stem();
        Self {
            owner: owner.clone(),
            record: record::place(folder, &stem),
            journal: journal_of(folder, &stem),
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

    /// Makes the disk say what is so of a run that goes on. `approvals` are its own at the moment at which it is asked.
    /// `durable`: it must survive the machine, too.
    pub(super) fn write(
        &self,
        dossier: &Dossier,
        approvals: impl FnOnce() -> Vec<View>,
        durable: bool,
    ) -> io::Result<()> {
        let mut on_disk = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let approvals = approvals();
        if approvals.is_empty() {
            dossier.log().unwritten();
            self.remove(&mut on_disk)?;
            return self.forget(&mut on_disk, dossier.resumes.as_deref());
        }
        self.written.store(true, Ordering::Release);
        let kept = self.keep(&mut on_disk, dossier, durable);
        if kept.is_err() {
            // Nobody knows what stands in it now: the next one is written whole.
            on_disk.journal = None;
        }
        kept?;
        self.put(&mut on_disk, &approvals, dossier.resumes.as_deref())?;
        self.awaited.store(false, Ordering::Release);
        self.forget(&mut on_disk, dossier.resumes.as_deref())
    }

    fn keep(&self, on_disk: &mut OnDisk, dossier: &Dossier, durable: bool) -> io::Result<()> {
        let Some(journal) = &mut on_disk.journal else {
            let calls = match self.owner {
                Owner::Run(_) => dossier.log().whole(),
                // Nothing is sent before its one call.
                Owner::Call(_) => Vec::new(),
            };
            let created = Journal::create(&self.journal, dossier.began.written(), &calls)?;
            on_disk.journal = Some(created);
            return Ok(());
        };
        let changes = dossier.log().changes();
        journal.append(&changes)?;
        match durable {
            true => journal.sync(),
            false => Ok(()),
        }
    }

    /// The same where no run goes on: only what became of its approvals.
    pub(super) fn amend(&self, approvals: impl FnOnce() -> Vec<View>) -> io::Result<()> {
        let mut on_disk = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let approvals = approvals();
        if approvals.is_empty() {
            return self.remove(&mut on_disk);
        }
        if self.awaited.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.record.try_exists()? {
            true => self.put(&mut on_disk, &approvals, None),
            false => Err(io::Error::other("its record is gone")),
        }
    }

    fn put(
        &self,
        on_disk: &mut OnDisk,
        approvals: &[View],
        resumes: Option<&str>,
    ) -> io::Result<()> {
        let now = || {
            approvals
                .iter()
                .map(|view| (view.number, answer(view).cloned()))
        };
        if on_disk
            .approvals
            .as_ref()
            .is_some_and(|known| known.iter().cloned().eq(now()))
        {
            return Ok(());
        }
        on_disk.approvals = None;
        record::save(&self.record, &self.owner, approvals, resumes)?;
        on_disk.approvals = Some(now().collect());
        Ok(())
    }

    fn remove(&self, on_disk: &mut OnDisk) -> io::Result<()> {
        (on_disk.journal, on_disk.approvals) = (None, None);
        atomic_file::remove(&self.record)?;
        // Without its record it is nothing, and if it stays the next daemon removes it.
        drop(std::fs::remove_file(&self.journal));
        self.written.store(false, Ordering::Release);
        self.awaited.store(false, Ordering::Release);
        Ok(())
    }

    /// These files stand for those of the run with which this one goes on.
    fn forget(&self, on_disk: &mut OnDisk, former: Option<&str>) -> io::Result<()> {
        if !on_disk.former_gone
            && let (Some(former), Some(folder)) = (former, self.record.parent())
        {
            atomic_file::remove(&record::place(folder, former))?;
            drop(std::fs::remove_file(journal_of(folder, former)));
            on_disk.former_gone = true;
        }
        Ok(())
    }

    /// What its run began with, and did. `None` if nothing is kept.
    pub(super) fn read(&self) -> io::Result<Option<(Program, Calls)>> {
        let _turn = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        journal::read(&self.journal)
    }
}

/// What a record says of it beside what it is.
fn answer(view: &View) -> Option<&Verdict> {
    match &view.state {
        State::Answered(verdict) => Some(verdict),
        State::Waiting | State::Pending => None,
    }
}

pub(super) fn journal_of(folder: &Path, stem: &str) -> PathBuf {
    folder.join(format!("{stem}.{}", record::JOURNAL))
}
