//! What one run may do: call tools through the gateway, read what is kept, print, and hand over parts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use mux_sandbox::{Fault, Kind, Level, Target, ToolHost, limits::MOST_ANSWER};
use serde_json::json;
use tracing::Instrument;

use super::{Happening, own, recorder::Recorder};
use crate::{
    gateway::{Arguments, Asking, Call, CallObserver, Gateway},
    handles::Handles,
    notices::Progress,
};

pub(super) struct Host {
    reach: Reach,
}

/// What its calls are made with.
#[derive(Clone)]
pub(super) struct Reach {
    pub(super) gateway: Arc<Gateway>,
    pub(super) handles: Handles,
    pub(super) asking: Asking,
    pub(super) observer: Arc<Observer>,
}

/// Turns what the gateway tells into events of the run.
pub(super) struct Observer {
    recorder: Arc<Recorder>,
    next_call: AtomicU32,
    /// Words on progress so far.
    progress: AtomicU32,
}

/// Words on the progress of all calls of one run. Whoever has read so many knows that it moves.
const MOST_PROGRESS: u32 = 5_000;

impl Host {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        handles: Handles,
        asking: Asking,
        recorder: Arc<Recorder>,
    ) -> Self {
        let observer = Arc::new(Observer {
            recorder,
            next_call: AtomicU32::new(1),
            progress: AtomicU32::new(0),
        });
        let reach = Reach {
            gateway,
            handles,
            asking,
            observer,
        };
        Self { reach }
    }
}

impl ToolHost for Host {
    fn begun(&self) {
        let recorder = &self.reach.observer.recorder;
        recorder.run().set_running();
        recorder.push(Happening::Started);
    }

    fn call(&self, target: Target, arguments: String) -> BoxFuture<'static, Result<String, Fault>> {
        let reach = self.reach.clone();
        let target = match target {
            Target::Own { name } => {
                return async move { own::call(&name, &arguments, &reach).await }
                    .in_current_span()
                    .boxed();
            }
            target => target,
        };
        let call = Call {
            target,
            arguments: Arguments::Json(arguments.into()),
            within: None,
            asking: reach.asking.clone(),
        };
        async move {
            let value = reach.gateway.call(call, reach.observer.as_ref()).await?;
            fitting(value, &reach.handles).await
        }
        .in_current_span()
        .boxed()
    }

    fn console(&self, level: Level, text: String) {
        let line = Happening::Console { level, text };
        self.reach.observer.recorder.push(line);
    }

    fn emit(&self, part: String) {
        self.reach.observer.recorder.part(part);
    }

    fn stood_still(&self) -> Duration {
        self.reach.asking.caller.clock.stood()
    }
}

/// A value that no frame to the worker can carry is kept, and the program is told where.
pub(super) async fn fitting(value: String, handles: &Handles) -> Result<String, Fault> {
    let bytes = value.len();
    if bytes <= MOST_ANSWER {
        return Ok(value);
    }
    let handle = handles.keep(value, "the result of the call").await?.name;
    let most = MOST_ANSWER;
    let mut fault = Fault::new(
        Kind::Limit,
        format!("the result of the call is {bytes} bytes, over the limit of {most}"),
    )
    .hint(format!(
        "it was called, and its result is kept: read it in parts with mux.read(\"{handle}\", \
         {{ offset, length }}), or ask the tool for less"
    ));
    fault.details = Some(json!({ "handle": handle, "bytes": bytes }).to_string());
    Err(fault)
}

impl CallObserver for Observer {
    fn server_starting(&self, server: &str) {
        self.recorder.push(Happening::ServerStarting {
            server: server.to_owned(),
        });
    }

    fn server_ready(&self, server: &str, took: Duration) {
        self.recorder.push(Happening::ServerReady {
            server: server.to_owned(),
            took,
        });
    }

    fn call_started(&self, path: &str) -> u32 {
        let call = self.next_call.fetch_add(1, Ordering::Relaxed);
        self.recorder.run().count(|calls| calls.started += 1);
        self.recorder.push(Happening::CallStarted {
            call,
            path: path.to_owned(),
        });
        call
    }

    fn call_progress(&self, call: u32, path: &str, progress: Progress) {
        if self.progress.fetch_add(1, Ordering::Relaxed) < MOST_PROGRESS {
            self.recorder.push(Happening::CallProgress {
                call,
                path: path.to_owned(),
                progress,
            });
        }
    }

    fn call_ended(&self, call: u32, path: &str, took: Duration, outcome: Result<usize, &Fault>) {
        self.recorder.run().count(|calls| {
            calls.ended += 1;
            calls.failed += u32::from(outcome.is_err());
        });
        // The program has the details; here they would be kept, and sent, a second time.
        let outcome = outcome.map_err(|fault| Fault {
            details: None,
            ..fault.clone()
        });
        self.recorder.push(Happening::CallEnded {
            call,
            path: path.to_owned(),
            took,
            outcome,
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::handles::Terms;

    #[tokio::test]
    async fn what_fits_into_no_frame_is_kept_and_the_program_told_where() {
        let home = tempfile::tempdir().unwrap();
        let handles = Handles::open(home.path().join("results"), Terms::default());
        let short = "\"x\"".to_owned();
        assert_eq!(fitting(short.clone(), &handles).await.unwrap(), short);
        let value = format!("\"{}\"", "x".repeat(MOST_ANSWER));
        let fault = fitting(value.clone(), &handles).await.unwrap_err();
        assert_eq!(fault.kind, Kind::Limit);
        assert!(fault.hint.unwrap().contains("mux.read(\"h_"));
        let details: Value = serde_json::from_str(&fault.details.unwrap()).unwrap();
        assert_eq!(details["bytes"], value.len());
        let handle = details["handle"].as_str().unwrap();
        assert_eq!(handles.whole(handle, usize::MAX).await.unwrap(), value);
        // In one piece it does not fit any better.
        let fault = own::read(&json!({ "handle": handle }).to_string(), &handles).await;
        assert_eq!(fault.unwrap_err().kind, Kind::Limit);
    }
}
