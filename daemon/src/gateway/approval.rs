//! A call that policy wants somebody to be asked for, on its way through [`Approvals`](crate::approvals::Approvals).
//!
//! Invariant: what goes out behind it are the arguments that were shown, of the tool that was shown.

use std::sync::Arc;

use mux_sandbox::{Fault, Kind};
use serde_json::Value;

use super::{
    Arguments, Asking, CallObserver, Gateway,
    permission::{Ask, Permission, What},
};
use crate::{
    approvals::{Asker, Cover, Subject, Word},
    audit::Entry,
    upstream::Server,
};

impl Gateway {
    /// Returns when somebody has approved the call of a tool, with the arguments in the words in which they were shown;
    /// or says that nobody has.
    pub(super) async fn approved(
        &self,
        ask: Ask,
        (wanted, raw): (&Permission<'_>, bool),
        observer: &dyn CallObserver,
        entry: &mut Entry,
    ) -> Result<Arguments, Fault> {
        let &Permission {
            path,
            server,
            asking,
            ..
        } = wanted;
        let What::Tool(tool, arguments) = &wanted.what else {
            return Err(Fault::new(
                Kind::Internal,
                "only the call of a tool has arguments",
            ));
        };
        // What would be refused anyhow, nobody is asked for.
        let read = Value::Object(self.readers.read(tool, arguments).await?);
        let (definition, pins) = (tool.definition(), server.pin_key()?);
        let cover = Cover::new(path, pins.definition(), &definition, &ask.rule);
        let rule = ask.rule.trim_matches('"').to_owned();
        let (why, origin) = ((ask.rule, ask.reason), Arc::clone(&asking.caller.origin));
        let subject = Subject::new(path.to_owned(), cover, &read, why, origin);
        let arguments = Arguments::Json(Arc::clone(&subject.arguments));
        let rules = self.policies();
        let answered = self.ask_user(subject, (asking, raw), observer).await;
        if answered
            .as_ref()
            .is_err_and(|fault| fault.kind == Kind::Denied)
        {
            entry.decided("denied", &rule);
        }
        answered?;
        if !Arc::ptr_eq(&rules, &self.policies()) {
            // They may say no by now. That somebody would be asked again is what just happened.
            self.permit(wanted, entry).await?;
        }
        entry.decided("approved", &rule);
        Ok(arguments)
    }

    /// The same for what is asked of a server beside its tools.
    pub(super) async fn approved_offer(
        &self,
        ask: Ask,
        (server, path): (&Server, &str),
        given: Value,
        asking: &Asking,
        observer: &dyn CallObserver,
    ) -> Result<(), Fault> {
        let cover = Cover::new(
            path,
            server.pin_key()?.definition(),
            &Value::Null,
            &ask.rule,
        );
        let subject = Subject::new(
            path.to_owned(),
            cover,
            &given,
            (ask.rule, ask.reason),
            Arc::clone(&asking.caller.origin),
        );
        self.ask_user(subject, (asking, true), observer).await
    }

    async fn ask_user(
        &self,
        subject: Subject,
        (asking, raw): (&Asking, bool),
        observer: &dyn CallObserver,
    ) -> Result<(), Fault> {
        let asker = Asker {
            caller: &asking.caller,
            dossier: asking.dossier.as_ref(),
            place: asking.place,
            raw,
        };
        let tell = |word: Word<'_>| observer.approval(word);
        self.approvals.ask(subject, asker, &tell).await
    }
}
