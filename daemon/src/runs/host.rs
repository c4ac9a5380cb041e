//! What one run may do: call tools through the gateway, read what is kept, print, and hand over parts.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use mux_sandbox::{Fault, Level, Target, ToolHost};
use tracing::Instrument;

use super::{
    Happening, own,
    reach::{Observer, Reach, fitting},
    recorder::Recorder,
};
use crate::{
    gateway::{Arguments, Asking, Call, Gateway},
    handles::Handles,
    upstream::Whose,
};

pub(super) struct Host {
    reach: Reach,
}

impl Host {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        handles: Handles,
        asking: Asking,
        recorder: Arc<Recorder>,
    ) -> Self {
        let reach = Reach {
            gateway,
            handles,
            whose: Whose::of(&asking.caller),
            asking,
            observer: Arc::new(Observer::new(recorder)),
        };
        Self { reach }
    }
}

impl ToolHost for Host {
    fn begun(&self) {
        let recorder = self.reach.observer.recorder();
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
        self.reach.observer.recorder().push(line);
    }

    fn emit(&self, part: String) {
        self.reach.observer.recorder().part(part);
    }

    fn stood_still(&self) -> Duration {
        self.reach.asking.caller.clock.stood()
    }
}
