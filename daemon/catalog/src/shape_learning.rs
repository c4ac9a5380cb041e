//! Learns shapes from results in the background.
//!
//! Invariant: a call never waits for this. If too many or too large results are queued, further ones are dropped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout_at},
};

use super::{LearnedShapes, Tool};
use mux_process::blocking_pool;
use mux_text::json_weight;
use mux_typegen::Witness;

/// The limit of queued values, in bytes.
const MAX_WAITING_VALUE_BYTES: usize = 16 << 20;
/// The limit of queued results.
const MAX_WAITING_LESSONS: usize = 256;
/// The delay from the first change to saving.
const SAVE_DELAY: Duration = Duration::from_secs(2);

pub(super) struct ShapeLearner {
    sender: mpsc::Sender<LearnerMessage>,
    waiting: Arc<AtomicUsize>,
}

enum LearnerMessage {
    Learn {
        tool: Arc<Tool>,
        value: Value,
        bytes: usize,
        witness: Witness,
    },
    Settle(oneshot::Sender<()>),
}

impl ShapeLearner {
    pub(super) fn start(learned: Arc<LearnedShapes>, news: watch::Sender<()>) -> Self {
        let (sender, steps) = mpsc::channel(MAX_WAITING_LESSONS);
        let waiting = Arc::new(AtomicUsize::new(0));
        tokio::spawn(learn(steps, learned, news, Arc::clone(&waiting)));
        Self { sender, waiting }
    }

    /// Learns from a value, whose JSON text has this many bytes.
    pub(super) fn give(&self, tool: &Arc<Tool>, value: Value, bytes: usize, witness: Witness) {
        if self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_WAITING_VALUE_BYTES {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            json_weight::drop_beside(value);
            return;
        }
        let tool = Arc::clone(tool);
        let step = LearnerMessage::Learn {
            tool,
            value,
            bytes,
            witness,
        };
        if let Err(refused) = self.sender.try_send(step) {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            if let LearnerMessage::Learn { value, .. } = refused.into_inner() {
                json_weight::drop_beside(value);
            }
        }
    }

    /// Resolves when everything queued before has been learned.
    pub(super) async fn settled(&self) {
        let (done, settled) = oneshot::channel();
        if self.sender.send(LearnerMessage::Settle(done)).await.is_ok() {
            // An error means that the task has ended.
            _ = settled.await;
        }
    }
}

async fn learn(
    mut steps: mpsc::Receiver<LearnerMessage>,
    learned: Arc<LearnedShapes>,
    news: watch::Sender<()>,
    waiting: Arc<AtomicUsize>,
) {
    let mut save_at = None;
    loop {
        let step = match save_at {
            None => steps.recv().await,
            Some(at) => {
                if let Ok(step) = timeout_at(at, steps.recv()).await {
                    step
                } else {
                    learned.save();
                    save_at = None;
                    continue;
                }
            }
        };
        match step {
            Some(LearnerMessage::Learn {
                tool,
                value,
                bytes,
                witness,
            }) => {
                save_at.get_or_insert_with(|| Instant::now() + SAVE_DELAY);
                let is_long = !json_weight::is_light(&value);
                let to = Arc::clone(&learned);
                if blocking_pool::run_if(is_long, move || to.add(&tool, &value, witness)).await {
                    news.send_replace(());
                }
                waiting.fetch_sub(bytes, Ordering::Relaxed);
            }
            Some(LearnerMessage::Settle(done)) => {
                // The receiver may have been dropped.
                _ = done.send(());
            }
            None => return learned.save(),
        }
    }
}
