//! How far one request is, told as often as somebody can follow.
//!
//! Invariant: only the latest word is kept, and whoever waits hears the last one before the answer.

use std::{
    convert::Infallible,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::model::ProgressNotificationParam;
use tokio::{sync::Notify, time::sleep};

use mux_caller::{Mark, Progress};

/// The first words of a request, which are told as they come. Most have no more.
const AT_ONCE: usize = 10;
/// From then on at most twenty words a second.
const PACE: Duration = Duration::from_millis(50);
/// What is kept of a server's text, in bytes.
const LONGEST: usize = 2_000;

#[derive(Debug, Default)]
pub(super) struct Meter {
    latest: Mutex<Option<Progress>>,
    moved: Notify,
    /// When it moved last.
    sign: Mutex<Option<Mark>>,
}

impl Meter {
    pub(super) fn set(&self, told: &ProgressNotificationParam) {
        self.tell(told.progress, told.total, told.message.as_deref());
    }

    pub(super) fn tell(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let cut = |text: &str| text[..text.floor_char_boundary(LONGEST)].to_owned();
        *self.latest() = Some(Progress {
            progress,
            total,
            message: message.map(cut),
        });
        self.moved.notify_one();
    }

    pub(super) fn sign(&self, mark: Mark) {
        *self.sign.lock().unwrap_or_else(PoisonError::into_inner) = Some(mark);
    }

    pub(super) fn last_sign(&self) -> Option<Mark> {
        *self.sign.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What nobody was told yet.
    pub(super) fn take(&self) -> Option<Progress> {
        self.latest().take()
    }

    /// Tells until it is dropped.
    pub(super) async fn follow(&self, tell: &(dyn Fn(Progress) + Send + Sync)) -> Infallible {
        let mut at_once = AT_ONCE;
        loop {
            self.moved.notified().await;
            if let Some(progress) = self.take() {
                tell(progress);
                match at_once {
                    0 => sleep(PACE).await,
                    _ => at_once -= 1,
                }
            }
        }
    }

    fn latest(&self) -> MutexGuard<'_, Option<Progress>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{NumberOrString, ProgressToken};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_words_become_few_and_the_last_one_is_left_for_the_end() {
        let meter = Meter::default();
        let heard = Mutex::new(Vec::new());
        let tell = |progress: Progress| heard.lock().unwrap().push(progress.progress);
        let token = ProgressToken(NumberOrString::Number(1));
        let telling = async {
            for n in 0..1000 {
                sleep(Duration::from_millis(1)).await;
                meter.set(&ProgressNotificationParam::new(token.clone(), f64::from(n)));
            }
        };
        tokio::select! {
            biased;
            () = telling => {}
            never = meter.follow(&tell) => match never {},
        }
        let told = heard.lock().unwrap().len();
        assert!((25..=31).contains(&told), "{told}");
        assert_eq!(meter.take().unwrap().progress, 999.0);
    }
}
