//! A change of config.toml: checked by the daemon before it is written, and reloaded afterwards.
//!
//! Invariant: an edit that adds a problem is not written.

use std::time::Instant;

use mux_proto::{ConfigProblem, Error, Kind, ReloadReport, endpoint::Dirs};

use super::check_text;
use crate::{
    agents::{AgentFile, ConfigDocument, ConfigFormat, EditLock, masked_diff},
    commands::{CommandFailure, import::reload_if_running, install::agent_places, resolve_dirs},
    render::ConfigEdit,
};

/// config.toml as it was read.
pub(in crate::commands) struct ConfigSource {
    dirs: Dirs,
    file: AgentFile,
}

impl ConfigSource {
    pub(in crate::commands) fn read() -> Result<Self, CommandFailure> {
        let dirs = resolve_dirs()?;
        let file = AgentFile::read(&dirs.config_file())?;
        Ok(Self { dirs, file })
    }

    pub(super) fn dirs(&self) -> &Dirs {
        &self.dirs
    }

    pub(super) fn text(&self) -> Result<&str, CommandFailure> {
        Ok(self.file.text()?)
    }

    pub(in crate::commands) fn document(&self) -> Result<ConfigDocument, CommandFailure> {
        Ok(self.file.parse(ConfigFormat::Toml)?)
    }

    /// The problems of the new content, except for those that the file already has.
    pub(super) async fn added_problems(
        &self,
        text: &str,
    ) -> Result<Vec<ConfigProblem>, CommandFailure> {
        let file = self.dirs.config_file();
        let mut added = check_text(text.to_owned(), &file).await?.problems;
        if !added.is_empty() {
            let known = check_text(self.text()?.to_owned(), &file).await?.problems;
            added.retain(|new| known.iter().all(|old| old.message != new.message));
        }
        Ok(added)
    }

    /// Writes new content to the file. Fails with the first error that it adds. `documented` describes the allowed
    /// values. If the content is right but names a host, path or tool that does not exist now, warns. If another
    /// program changed the file since it was read, `repeat_edit` repeats the edit.
    pub(in crate::commands) async fn apply(
        &self,
        text: &str,
        summary: String,
        documented: Option<String>,
        dry_run: bool,
    ) -> Result<ConfigEdit, CommandFailure> {
        let added = if text == self.text()? {
            Vec::new()
        } else {
            self.added_problems(text).await?
        };
        let (advisory, mistakes): (Vec<_>, Vec<_>) =
            added.into_iter().partition(|problem| problem.advisory);
        if let Some(problem) = mistakes.into_iter().next() {
            let message = format!(
                "not written, because the result would be invalid: {}",
                problem.message
            );
            let error = Error::new(Kind::Validation, message);
            return Err(match documented {
                Some(documented) => error.hint(documented).into(),
                None => error.into(),
            });
        }
        let mut edit = self.write(text, summary, dry_run).await?;
        let warnings = advisory.into_iter().map(|problem| problem.message);
        edit.warnings.extend(warnings);
        Ok(edit)
    }

    /// Replaces the file, unless it was changed since it was read, and reloads it.
    pub(super) async fn write(
        &self,
        text: &str,
        summary: String,
        dry_run: bool,
    ) -> Result<ConfigEdit, CommandFailure> {
        let old = self.text()?;
        let path = self.dirs.config_file();
        let mut edit = ConfigEdit {
            diff: masked_diff(old, text, &agent_places()?.tilde_path(&path)),
            config: path,
            summary,
            changed: old != text,
            dry_run,
            ..ConfigEdit::default()
        };
        if edit.changed && !dry_run {
            let written = Instant::now();
            let lock = EditLock::take(&self.dirs)?;
            self.file.replace(text.as_bytes(), &lock)?;
            drop(lock);
            match reload_if_running().await {
                Ok(report) => edit.reloaded = report.map(|report| since(written, report)),
                Err(failure) => edit.not_reloaded = Some(failure.error.message),
            }
        }
        Ok(edit)
    }
}

/// The report without a load that came before the file was written: its changes are those of others.
fn since(written: Instant, report: ReloadReport) -> ReloadReport {
    let age_ms = u64::try_from(written.elapsed().as_millis()).unwrap_or(u64::MAX);
    ReloadReport {
        earlier: report.earlier.filter(|earlier| earlier.age_ms <= age_ms),
        ..report
    }
}
