//! One step: its arguments made, its tool called, what it gave made fit to be told.
//!
//! Invariant: a step calls its tool once or not at all, by the gateway's one way.

use std::{sync::Arc, time::Duration};

use mux_typegen::Shape;
use mux_wire::{Fault, Kind, Target};
use tokio::{task::spawn_blocking, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{summary::Shown, values::Sources};
use crate::reach::Reach;
use mux_program::{Filling, Missing, Part, Plan, Reference, Root, Values, pick};

/// So many bytes are read in less time than it takes to have another thread do it.
const LONG: usize = 256 << 10;
/// The shape of a longer value is left out of an error.
const MOST_SHAPED: usize = 4 << 20;

/// A step that is about to go.
pub(super) struct One {
    pub(super) plan: Arc<Plan>,
    pub(super) index: usize,
    pub(super) values: Sources,
    /// Bytes of its arguments.
    pub(super) most: usize,
    pub(super) reach: Reach,
}

/// What later steps can refer to, as JSON texts.
#[derive(Clone)]
pub(super) struct Given {
    pub(super) args: Arc<str>,
    pub(super) result: Arc<str>,
    pub(super) shown: Arc<Shown>,
}

pub(super) struct Ended {
    pub(super) index: usize,
    pub(super) took: Duration,
    pub(super) outcome: Result<Given, Fault>,
}

impl Given {
    pub(super) fn bytes(&self) -> usize {
        self.args.len() + self.result.len()
    }
}

impl One {
    /// Goes until it has ended, or an earlier step has failed.
    pub(super) async fn go(self, halt: CancellationToken) -> Ended {
        let (index, began) = (self.index, Instant::now());
        let outcome = tokio::select! {
            biased;
            () = halt.cancelled() => Err(Fault::new(
                Kind::Cancelled,
                "it was on its way when an earlier step failed, and was cancelled",
            )
            .hint("it may or may not have happened; look before you call it again")),
            outcome = self.call() => outcome,
        };
        Ended {
            index,
            took: began.elapsed(),
            outcome,
        }
    }

    async fn call(self) -> Result<Given, Fault> {
        let (reach, plan, index) = (self.reach.clone(), Arc::clone(&self.plan), self.index);
        let args: Arc<str> = match self.values.bytes() > LONG && !plan.steps[index].args.is_fixed()
        {
            false => self.filled(),
            true => {
                let lost = |_| Fault::new(Kind::Internal, "the arguments were lost in the daemon");
                spawn_blocking(move || self.filled()).await.map_err(lost)?
            }
        }?
        .into();
        let target = Target::Path {
            path: plan.steps[index].tool.clone(),
            raw: false,
        };
        let result = reach.call(target, Arc::clone(&args)).await?;
        let shown = Arc::new(Shown::of(&result, &reach.handles).await);
        Ok(Given {
            args,
            result: result.into(),
            shown,
        })
    }

    /// Its arguments as they are sent.
    fn filled(self) -> Result<String, Fault> {
        let step = &self.plan.steps[self.index];
        step.args
            .fill(&self.values, self.most)
            .map_err(|why| match why {
                Filling::TooLong(most) => Fault::new(
                    Kind::Limit,
                    format!("the arguments would be over the limit of {most} bytes"),
                )
                .hint(
                    "send less at once; [limits] argument in config.toml allows more, up to 15 MiB",
                )
                .path(&step.tool),
                Filling::TooMuch(most) => too_much_to_read(most).path(&step.tool),
                Filling::Missing(reference, missing) => {
                    leads_nowhere(&self.plan, "it", &reference, &missing, &self.values)
                        .path(&step.tool)
                }
            })
    }
}

pub(super) fn too_much_to_read(most: usize) -> Fault {
    let message = format!(
        "to find what it refers to, more than {most} bytes of results would have to be read"
    );
    Fault::new(Kind::Limit, message).hint(
        "this limit is fixed: refer to long results less often, or write a TypeScript program",
    )
}

/// The error of a reference to what is not there, with what there is.
pub(super) fn leads_nowhere(
    plan: &Plan,
    who: &str,
    reference: &Reference,
    missing: &Missing,
    values: &Sources,
) -> Fault {
    let message = format!(
        "{who} refers to {{{{{}}}}}, and there is no such value: {}",
        reference.text, missing.message
    );
    let mut hints: Vec<String> = Vec::new();
    if !missing.near.is_empty() {
        let near: Vec<String> = missing
            .near
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        hints.push(format!("did you mean {}?", near.join(" or ")));
    }
    let of = match reference.root {
        Root::Input => "the input".to_owned(),
        Root::Step { index, part } => {
            let step = &plan.steps[index];
            let what = match part {
                Part::Result => "the result",
                Part::Args => "the arguments",
            };
            format!("{what} of `{}` ({})", step.id, step.tool)
        }
    };
    let whole = values.text(reference).and_then(|text| pick(text, &[]).ok());
    if let Some(shape) = whole
        .filter(|text| text.len() <= MOST_SHAPED)
        .and_then(outline)
    {
        hints.push(format!("{of} looks like this:\n{shape}"));
    }
    let fault = Fault::new(Kind::Runtime, message);
    match hints.is_empty() {
        true => fault,
        false => fault.hint(hints.join("\n")),
    }
}

/// The type of a value, which says nothing of what is in it.
fn outline(text: &str) -> Option<String> {
    let mut shape = Shape::new();
    shape.add(&serde_json::from_str(text).ok()?);
    shape.outline()
}
