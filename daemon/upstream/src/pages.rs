//! The pages that users were asked to open, until their server says that what was to be done there is
//! done.
//!
//! Invariant: whoever was asked is told, and nobody else; the oldest of too many are forgotten.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::in_flight::Party;
use mux_caller::{Caller, Cause, Mailbox};

const MOST: usize = 64;
/// A page's name in bytes; one that is longer is none that is kept.
const LONGEST: usize = 1 << 10;

#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<VecDeque<Page>>);

#[derive(Debug)]
struct Page {
    id: String,
    mailbox: Arc<Mailbox>,
    cause: Cause,
}

impl Pages {
    /// A question was asked; most are none of a page. `params` are those of `elicitation/create`.
    pub(super) fn opened(&self, params: &Value, party: &Party) {
        self.note(params, &party.mailbox, &party.caller.cause);
    }

    /// A call was refused until its user has been on these pages. `data` is the error's.
    pub(super) fn required(&self, data: &Value, caller: &Caller) {
        let Some(mailbox) = &caller.mailbox else {
            return;
        };
        for params in data["elicitations"].as_array().into_iter().flatten() {
            self.note(params, mailbox, &caller.cause);
        }
    }

    fn note(&self, params: &Value, mailbox: &Arc<Mailbox>, cause: &Cause) {
        let id = params["elicitationId"].as_str().unwrap_or_default();
        if id.is_empty() || id.len() > LONGEST || params["mode"] != "url" {
            return;
        }
        let mut pages = self.pages();
        if pages.len() == MOST {
            pages.pop_front();
        }
        pages.push_back(Page {
            id: id.to_owned(),
            mailbox: Arc::clone(mailbox),
            cause: cause.clone(),
        });
    }

    /// Who was asked, once.
    pub(super) fn done(&self, id: &str) -> Option<(Arc<Mailbox>, Cause)> {
        let mut pages = self.pages();
        let place = pages.iter().position(|page| page.id == id)?;
        let page = pages.remove(place)?;
        Some((page.mailbox, page.cause))
    }

    fn pages(&self) -> MutexGuard<'_, VecDeque<Page>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mux_caller::News;

    #[test]
    fn whoever_was_asked_is_told_once() {
        let pages = Pages::default();
        let caller = Caller {
            mailbox: Some(Mailbox::new(7, Arc::default(), &News::default())),
            ..Caller::default()
        };
        let page = |n: usize| json!({ "mode": "url", "url": "u", "elicitationId": n.to_string() });
        let form = json!({ "mode": "form", "elicitationId": "f" });
        let all: Vec<_> = (0..=MOST).map(page).chain([form]).collect();
        pages.required(&json!({ "elicitations": all }), &caller);
        assert!(pages.done("0").is_none(), "the oldest is forgotten");
        assert!(pages.done("f").is_none());
        assert_eq!(pages.done("1").unwrap().0.connection(), 7);
        assert!(pages.done("1").is_none());
    }
}
