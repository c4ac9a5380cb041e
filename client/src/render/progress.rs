//! A spinner on standard error while something slow goes on. Silent where there is no terminal.

use std::{io::IsTerminal, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter waits show nothing: a flicker says less than silence.
const QUIET: Duration = Duration::from_millis(150);

/// Something that is being waited for.
pub(crate) struct Waiting {
    bar: Option<ProgressBar>,
    starter: Option<tokio::task::JoinHandle<()>>,
}

impl Waiting {
    pub(crate) fn begin(what: &str, json: bool) -> Self {
        if json || !std::io::stderr().is_terminal() {
            return Self {
                bar: None,
                starter: None,
            };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_message(what.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        let ticking = bar.clone();
        let starter = tokio::spawn(async move {
            tokio::time::sleep(QUIET).await;
            ticking.set_draw_target(ProgressDrawTarget::stderr());
            ticking.enable_steady_tick(Duration::from_millis(100));
        });
        Self {
            bar: Some(bar),
            starter: Some(starter),
        }
    }

    pub(crate) fn say(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
    }

    /// Somebody else may want the line for a moment.
    pub(crate) fn quiet(&self) -> Quiet {
        Quiet(self.bar.clone())
    }

    /// Prints without tearing the spinner.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    pub(crate) fn end(self) {
        drop(self);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(starter) = self.starter.take() {
            starter.abort();
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Takes the spinner away while somebody is asked.
#[derive(Clone)]
pub(crate) struct Quiet(Option<ProgressBar>);

impl Quiet {
    pub(crate) fn hide(&self) {
        if let Some(bar) = &self.0 {
            bar.disable_steady_tick();
            // What stands there is wiped away.
            bar.suspend(|| ());
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    pub(crate) fn show(&self) {
        if let Some(bar) = &self.0 {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(100));
        }
    }
}
