//! Who begins spans: for a client's request, and within what is under way.
//!
//! Invariant: a span that somebody is told of has an id of its own, which those who are asked within it are told, too.

use std::sync::{Arc, PoisonError, RwLock};

use futures::future::BoxFuture;

use super::{Collect, Context, Counts, Destination, Kind, Span, Start};

/// Of one daemon; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// None if it is not built in.
    start: Option<Start>,
    state: RwLock<State>,
}

/// Guarded by `Inner::state`.
#[derive(Default)]
struct State {
    to: Option<String>,
    collector: Option<Arc<dyn Collect>>,
    problem: Option<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

/// Where spans go, for the eye.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub built_in: bool,
    /// The address that somebody has named.
    pub to: Option<String>,
    pub counts: Counts,
}

impl Tracer {
    pub fn new(start: Option<Start>) -> Self {
        Self(Arc::new(Inner {
            start,
            state: RwLock::default(),
        }))
    }

    pub fn is_built_in(&self) -> bool {
        self.0.start.is_some()
    }

    /// From now on spans go there. What the one before still has is sent meanwhile.
    pub fn send_to(&self, to: Option<Result<Destination, (String, String)>>) {
        let mut state = State::default();
        match to {
            None => {}
            Some(Err((shown, problem))) => {
                state.to = Some(shown);
                state.problem = Some(problem);
            }
            Some(Ok(to)) => {
                state.to = Some(to.shown.clone());
                match self.0.start.as_ref().map(|start| start.with(to)) {
                    None => {}
                    Some(Ok(collector)) => state.collector = Some(collector),
                    Some(Err(problem)) => state.problem = Some(problem),
                }
            }
        }
        let before = {
            let mut now = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *now, state)
        };
        if let Some(before) = before.collector {
            tokio::spawn(before.close());
        }
    }

    /// What a client asks for, in the trace that it named.
    pub fn begin(&self, asked: Option<Context>, kind: Kind, name: impl FnOnce() -> String) -> Span {
        begin(self.collector(), asked.map(Arc::new), kind, name)
    }

    pub fn report(&self) -> Report {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        let counts = state.collector.as_ref().map(|collector| collector.counts());
        let mut counts = counts.unwrap_or_default();
        counts.problem = counts.problem.or_else(|| state.problem.clone());
        Report {
            built_in: self.is_built_in(),
            to: state.to.clone(),
            counts,
        }
    }

    /// Resolves when what is left was sent or given up.
    pub fn close(&self) -> BoxFuture<'static, ()> {
        let collector = self.collector();
        Box::pin(async move {
            if let Some(collector) = collector {
                collector.close().await;
            }
        })
    }

    fn collector(&self) -> Option<Arc<dyn Collect>> {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        state.collector.clone()
    }
}

/// In which trace something is done, and whether anybody is told. Empty where nobody traces.
#[derive(Clone, Default)]
pub struct Trace {
    context: Option<Arc<Context>>,
    /// Is told of the spans within.
    collector: Option<Arc<dyn Collect>>,
}

impl Trace {
    /// What whoever is asked is told.
    pub fn context(&self) -> Option<&Arc<Context>> {
        self.context.as_ref()
    }

    /// A part of it.
    pub fn begin(&self, kind: Kind, name: impl FnOnce() -> String) -> Span {
        match (&self.collector, &self.context) {
            (Some(_), Some(context)) => begin(
                self.collector.clone(),
                Some(Arc::clone(context)),
                kind,
                name,
            ),
            _ => Span::silent(self.clone()),
        }
    }
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Trace").field(&self.context).finish()
    }
}

fn begin(
    collector: Option<Arc<dyn Collect>>,
    parent: Option<Arc<Context>>,
    kind: Kind,
    name: impl FnOnce() -> String,
) -> Span {
    let is_wanted = parent.as_ref().is_none_or(|parent| parent.is_sampled());
    let Some(collector) = collector.filter(|_| is_wanted) else {
        // To name a span that nobody is told of would lose the one above it.
        return Span::silent(Trace {
            context: parent,
            collector: None,
        });
    };
    let context = parent
        .as_ref()
        .map_or_else(Context::root, |parent| parent.child());
    let trace = Trace {
        context: Some(Arc::new(context.clone())),
        collector: Some(Arc::clone(&collector)),
    };
    let above = parent.map(|parent| parent.span);
    Span::kept(trace, (context, above), (kind, name()), collector)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{super::Ended, *};

    #[derive(Default)]
    struct Kept(Mutex<Vec<Ended>>);

    impl Collect for Kept {
        fn take(&self, span: Ended) {
            self.0.lock().unwrap().push(span);
        }

        fn counts(&self) -> Counts {
            Counts::default()
        }

        fn close(&self) -> BoxFuture<'static, ()> {
            Box::pin(async {})
        }
    }

    fn tracer() -> (Tracer, Arc<Kept>) {
        let kept = Arc::new(Kept::default());
        let collector = Arc::clone(&kept);
        let start = Start::new(move |_| Ok(Arc::clone(&collector) as Arc<dyn Collect>));
        let tracer = Tracer::new(Some(start));
        tracer.send_to(Some(Ok(Destination {
            url: String::new(),
            shown: "there".into(),
            headers: Vec::new(),
            resource: Vec::new(),
            client: reqwest::Client::default(),
        })));
        (tracer, kept)
    }

    fn asked(flags: &str) -> Option<Context> {
        let text = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
        Context::parse(&text, None)
    }

    #[tokio::test]
    async fn spans_stand_under_each_other_and_under_what_was_asked() {
        rustls();
        let (tracer, kept) = tracer();
        let run = tracer.begin(asked("01"), Kind::Server, || "run".into());
        let mut call = run.trace().begin(Kind::Client, || "call".into());
        call.set("a", || Some(1));
        let told = call.trace().context().unwrap().traceparent();
        call.ended(|| Some("timeout".into()));
        let given_up = run.trace().begin(Kind::Internal, || "check".into());
        drop(given_up);
        run.ended(|| None);
        let spans = kept.0.lock().unwrap();
        let [call, check, run] = &spans[..] else {
            panic!("{spans:?}");
        };
        assert_eq!(run.parent, asked("01").map(|above| above.span));
        assert_eq!(call.parent, Some(run.context.span));
        assert_eq!(told, call.context.traceparent());
        assert!(call.failed && !run.failed && call.attributes.len() == 2);
        assert_eq!(check.attributes, [("error.type", "cancelled".into())]);
    }

    #[tokio::test]
    async fn without_a_context_a_trace_begins_only_where_somebody_is_told() {
        rustls();
        let (tracer, kept) = tracer();
        tracer
            .begin(None, Kind::Server, || "run".into())
            .ended(|| None);
        let root = kept.0.lock().unwrap().pop().unwrap();
        assert!(root.parent.is_none() && root.context.is_sampled());
        tracer.send_to(None);
        let nobody = tracer.begin(None, Kind::Server, || unreachable!());
        let within = nobody.trace().begin(Kind::Client, || unreachable!());
        assert!(within.trace().context().is_none());
    }

    #[tokio::test]
    async fn whom_nobody_is_told_of_the_context_passes_as_it_is() {
        rustls();
        let (tracer, _kept) = tracer();
        for (tracer, flags) in [(Tracer::default(), "01"), (tracer, "00")] {
            let run = tracer.begin(asked(flags), Kind::Server, || unreachable!());
            let call = run.trace().begin(Kind::Client, || unreachable!());
            assert_eq!(
                call.trace().context().map(|it| (**it).clone()),
                asked(flags)
            );
        }
    }

    fn rustls() {
        drop(rustls::crypto::ring::default_provider().install_default());
    }
}
