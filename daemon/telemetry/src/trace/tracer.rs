//! Begins spans: for requests of clients, and within other spans.
//!
//! Invariant: a recorded span has its own ID, which is passed to the servers that are called within it.

use std::sync::Arc;

use futures::future::BoxFuture;
use mux_messages::TelemetryStatus;
use parking_lot::RwLock;

use super::{CollectorEndpoint, CollectorFactory, Span, SpanCollector, SpanKind, TraceContext};

/// The tracer of a daemon. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Arc<TracerInner>);

#[derive(Debug, Default)]
struct TracerInner {
    /// `None` if exporting is not built in.
    start: Option<CollectorFactory>,
    state: RwLock<TracerState>,
}

/// Guarded by `TracerInner::state`.
#[derive(Default)]
struct TracerState {
    to: Option<String>,
    collector: Option<Arc<dyn SpanCollector>>,
    problem: Option<String>,
}

impl std::fmt::Debug for TracerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TracerState")
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

impl Tracer {
    pub fn new(start: Option<CollectorFactory>) -> Self {
        Self(Arc::new(TracerInner {
            start,
            state: RwLock::default(),
        }))
    }

    pub fn is_built_in(&self) -> bool {
        self.0.start.is_some()
    }

    /// Sets the collector for new spans. The previous one sends its remaining spans in the background.
    pub fn send_to(&self, to: Option<Result<CollectorEndpoint, (String, String)>>) {
        let mut state = TracerState::default();
        match to {
            None => {}
            Some(Err((shown, problem))) => {
                state.to = Some(shown);
                state.problem = Some(problem);
            }
            Some(Ok(to)) => {
                state.to = Some(to.shown.clone());
                match self.0.start.map(|start| start(to)) {
                    None => {}
                    Some(Ok(collector)) => state.collector = Some(collector),
                    Some(Err(problem)) => state.problem = Some(problem),
                }
            }
        }
        let before = {
            let mut now = self.0.state.write();
            std::mem::replace(&mut *now, state)
        };
        if let Some(before) = before.collector {
            tokio::spawn(before.close());
        }
    }

    /// Begins the span of a client's request, in the client's trace if it passed one.
    pub fn begin_trace(
        &self,
        asked: Option<TraceContext>,
        kind: SpanKind,
        name: impl FnOnce() -> String,
    ) -> Span {
        start_span(self.collector(), asked.map(Arc::new), kind, name)
    }

    pub fn status(&self) -> TelemetryStatus {
        let state = self.0.state.read();
        let counts = state.collector.as_ref().map(|collector| collector.counts());
        let counts = counts.unwrap_or_default();
        TelemetryStatus {
            built_in: self.is_built_in(),
            endpoint: state.to.clone(),
            sent: counts.sent,
            lost: counts.lost,
            problem: counts.problem.or_else(|| state.problem.clone()),
        }
    }

    /// Resolves when the remaining spans are sent or dropped.
    pub fn close(&self) -> BoxFuture<'static, ()> {
        let collector = self.collector();
        Box::pin(async move {
            if let Some(collector) = collector {
                collector.close().await;
            }
        })
    }

    fn collector(&self) -> Option<Arc<dyn SpanCollector>> {
        let state = self.0.state.read();
        state.collector.clone()
    }
}

/// The trace context of some work, and the collector of its spans. Empty without tracing.
#[derive(Clone, Default)]
pub struct TraceScope {
    context: Option<Arc<TraceContext>>,
    /// Receives the spans within this scope.
    collector: Option<Arc<dyn SpanCollector>>,
}

impl TraceScope {
    /// The context that is passed to servers.
    pub fn context(&self) -> Option<&Arc<TraceContext>> {
        self.context.as_ref()
    }

    /// Begins a child span.
    pub fn begin_span(&self, kind: SpanKind, name: impl FnOnce() -> String) -> Span {
        match (&self.collector, &self.context) {
            (Some(_), Some(context)) => start_span(
                self.collector.clone(),
                Some(Arc::clone(context)),
                kind,
                name,
            ),
            _ => Span::unrecorded(self.clone()),
        }
    }
}

impl std::fmt::Debug for TraceScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TraceScope").field(&self.context).finish()
    }
}

fn start_span(
    collector: Option<Arc<dyn SpanCollector>>,
    parent: Option<Arc<TraceContext>>,
    kind: SpanKind,
    name: impl FnOnce() -> String,
) -> Span {
    let is_wanted = parent.as_ref().is_none_or(|parent| parent.is_sampled());
    let Some(collector) = collector.filter(|_| is_wanted) else {
        // The context of an unrecorded span would hide its parent.
        return Span::unrecorded(TraceScope {
            context: parent,
            collector: None,
        });
    };
    let context = parent
        .as_ref()
        .map_or_else(TraceContext::root, |parent| parent.child());
    let trace = TraceScope {
        context: Some(Arc::new(context.clone())),
        collector: Some(Arc::clone(&collector)),
    };
    let above = parent.map(|parent| parent.span);
    Span::recorded(trace, context, above, kind, name(), collector)
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::{
        super::{EndedSpan, SpanCounts},
        *,
    };

    #[derive(Default)]
    struct KeptSpans(Mutex<Vec<EndedSpan>>);

    impl SpanCollector for KeptSpans {
        fn take(&self, span: EndedSpan) {
            self.0.lock().push(span);
        }

        fn counts(&self) -> SpanCounts {
            SpanCounts::default()
        }

        fn close(&self) -> BoxFuture<'static, ()> {
            Box::pin(async {})
        }
    }

    fn tracer() -> (Tracer, Arc<KeptSpans>) {
        let kept = Arc::new(KeptSpans::default());
        let collector = Arc::clone(&kept);
        let tracer = Tracer::default();
        tracer.0.state.write().collector = Some(collector);
        (tracer, kept)
    }

    fn asked(flags: &str) -> Option<TraceContext> {
        let text = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
        TraceContext::parse(&text, None)
    }

    #[tokio::test]
    async fn spans_are_nested_under_the_client_context() {
        let (tracer, kept) = tracer();
        let run = tracer.begin_trace(asked("01"), SpanKind::Server, || "run".into());
        let mut call = run.trace().begin_span(SpanKind::Client, || "call".into());
        call.set("a", || Some(1));
        let traceparent = call.trace().context().unwrap().traceparent();
        call.end_with(|| Some("timeout".into()));
        let given_up = run
            .trace()
            .begin_span(SpanKind::Internal, || "check".into());
        drop(given_up);
        run.end_with(|| None);
        let spans = kept.0.lock();
        let [call, check, run] = &spans[..] else {
            panic!("{spans:?}");
        };
        assert_eq!(run.parent, asked("01").map(|above| above.span));
        assert_eq!(call.parent, Some(run.context.span));
        assert_eq!(traceparent, call.context.traceparent());
        assert!(call.failed && !run.failed && call.attributes.len() == 2);
        assert_eq!(check.attributes, [("error.type", "cancelled".into())]);
    }

    #[tokio::test]
    async fn trace_without_context_begins_only_with_a_collector() {
        let (tracer, kept) = tracer();
        tracer
            .begin_trace(None, SpanKind::Server, || "run".into())
            .end_with(|| None);
        let root = kept.0.lock().pop().unwrap();
        assert!(root.parent.is_none() && root.context.is_sampled());
        tracer.send_to(None);
        let nobody = tracer.begin_trace(None, SpanKind::Server, || unreachable!());
        let within = nobody
            .trace()
            .begin_span(SpanKind::Client, || unreachable!());
        assert!(within.trace().context().is_none());
    }

    #[tokio::test]
    async fn unrecorded_context_is_passed_on_unchanged() {
        let (tracer, _kept) = tracer();
        for (tracer, flags) in [(Tracer::default(), "01"), (tracer, "00")] {
            let run = tracer.begin_trace(asked(flags), SpanKind::Server, || unreachable!());
            let call = run.trace().begin_span(SpanKind::Client, || unreachable!());
            assert_eq!(
                call.trace().context().map(|it| (**it).clone()),
                asked(flags)
            );
        }
    }
}
