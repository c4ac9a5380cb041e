//! What one run may do: call tools through the gateway, and print.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use mux_sandbox::{Fault, Level, Target, ToolHost};
use tracing::Instrument;

use super::{Happening, Run};
use crate::gateway::{Arguments, Call, CallObserver, Gateway};

pub(super) struct Host {
    gateway: Arc<Gateway>,
    observer: Arc<Observer>,
}

/// Turns what the gateway tells into events of the run.
struct Observer {
    run: Arc<Run>,
    next_call: AtomicU32,
}

impl Host {
    pub(super) fn new(gateway: Arc<Gateway>, run: Arc<Run>) -> Self {
        Self {
            gateway,
            observer: Arc::new(Observer {
                run,
                next_call: AtomicU32::new(1),
            }),
        }
    }
}

impl ToolHost for Host {
    fn call(&self, target: Target, arguments: String) -> BoxFuture<'static, Result<String, Fault>> {
        let (gateway, observer) = (Arc::clone(&self.gateway), Arc::clone(&self.observer));
        let call = Call {
            target,
            arguments: Arguments::Json(arguments),
            within: None,
        };
        async move { gateway.call(call, observer.as_ref()).await }
            .in_current_span()
            .boxed()
    }

    fn console(&self, level: Level, text: String) {
        self.observer
            .run
            .events
            .push(Happening::Console { level, text });
    }
}

impl CallObserver for Observer {
    fn server_starting(&self, server: &str) {
        self.run.events.push(Happening::ServerStarting {
            server: server.to_owned(),
        });
    }

    fn server_ready(&self, server: &str, took: Duration) {
        self.run.events.push(Happening::ServerReady {
            server: server.to_owned(),
            took,
        });
    }

    fn call_started(&self, path: &str) -> u32 {
        let call = self.next_call.fetch_add(1, Ordering::Relaxed);
        self.run.events.push(Happening::CallStarted {
            call,
            path: path.to_owned(),
        });
        call
    }

    fn call_ended(&self, call: u32, path: &str, took: Duration, outcome: Result<usize, &Fault>) {
        // The program has the details; here they would be kept, and sent, a second time.
        let outcome = outcome.map_err(|fault| Fault {
            details: None,
            ..fault.clone()
        });
        self.run.events.push(Happening::CallEnded {
            call,
            path: path.to_owned(),
            took,
            outcome,
        });
    }
}
