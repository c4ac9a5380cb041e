//! What servers offer beside tools, on the same way as a call: the server, policy, its session, a place in
//! line, the request.
//!
//! Invariant: policy and the agent's scope are asked with the canonical path `server.method`, such as
//! `files.resources/read`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use mux_sandbox::Turn;
use mux_wire::{Fault, Kind};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    CallObserver, Gateway, call_times, failure,
    permission::{Ask, Permission, What, nobody_asked},
    ready, spans,
};
use mux_approvals::Dossier;
use mux_audit::Entry;
use mux_caller::{Caller, Mailbox, Progress};
use mux_catalog::Scope;
use mux_text::json_weight;
use mux_upstream::{CallError, Held, OfferKind, Sending, Server, Wanted, Whose};

/// MCP's code for a resource that does not exist.
const RESOURCE_NOT_FOUND: i32 = -32002;
/// How long each server is waited for where all are asked: one that hangs is no reason to have nothing of the others.
const WAIT: Duration = Duration::from_secs(10);

/// Who wants something of a server.
#[derive(Clone, Debug)]
pub struct Asking {
    /// Whose turn it takes among the calls of the server.
    pub turn: Turn,
    /// What it sees.
    pub scope: Arc<Scope>,
    /// Who may be asked and told meanwhile.
    pub caller: Arc<Caller>,
    /// Of the run in which it is wanted.
    pub dossier: Option<Arc<Dossier>>,
    /// Which of its calls it is.
    pub place: Option<usize>,
    /// Somebody is asked where no rule says so, whoever could answer at this moment: a run that began where its user
    /// can be asked is detached without becoming freer, and one that goes on had a call that waited.
    pub asks: bool,
}

/// What servers offer of one kind.
#[derive(Debug, Default)]
pub struct Offered {
    /// By the names of the servers.
    pub lists: Vec<(String, Arc<Vec<Value>>)>,
    /// Those that could not be asked.
    pub missing: Vec<(String, Fault)>,
}

impl Gateway {
    /// Everything of this kind, of one server or of all. One that offers nothing of the kind has an empty
    /// list. Each is waited for so long; without `wait`, one server as long as a call of it may take.
    pub async fn offers(
        &self,
        kind: OfferKind,
        server: Option<&str>,
        wait: Option<Duration>,
        asking: &Asking,
    ) -> Result<Offered, Fault> {
        let wait = wait.or(server.is_none().then_some(WAIT));
        let scope = self.scope_now(asking);
        let servers = match server {
            Some(name) => {
                let server = self.upstreams().find_seen(name, &scope)?;
                self.lists(&server, kind, asking).await?;
                vec![server]
            }
            None => self.upstreams().all_seen(&scope),
        };
        let named = server.is_some();
        let asked = servers.iter().map(|server| async move {
            let list = async {
                if !named {
                    self.lists(server, kind, asking).await?;
                }
                self.list(server, kind, asking).await
            };
            let Some(wait) = wait else { return list.await };
            timeout(wait, list).await.unwrap_or_else(|_| {
                server.withholds(&Whose::of(&asking.caller), kind);
                Err(late(server.name(), wait))
            })
        });
        let mut offered = Offered::default();
        for (server, list) in servers.iter().zip(join_all(asked).await) {
            let name = server.name().to_owned();
            match list {
                Ok(list) => offered.lists.push((name, list)),
                Err(fault) => offered.missing.push((name, fault)),
            }
        }
        Ok(offered)
    }

    async fn list(
        &self,
        server: &Arc<Server>,
        kind: OfferKind,
        asking: &Asking,
    ) -> Result<Arc<Vec<Value>>, Fault> {
        let path = path_of(server, kind.method());
        if self
            .scope_now(asking)
            .hides_path(server.name(), kind.method())
        {
            return Ok(Arc::default());
        }
        let (within, whole) = call_times(server, None)?;
        let sending = Sending {
            caller: Some(&asking.caller),
            place: None,
            within,
            whole,
            progress: &|_| {},
            trace: None,
        };
        let whose = Whose::of(&asking.caller);
        // The session may end a moment before it is asked.
        for last in [false, true] {
            let held = server.session(&whose).await;
            let held = held.inspect_err(|_| server.withholds(&whose, kind))?;
            let Held { slot, session } = held;
            let _in_flight = match session.knows_offers(kind) {
                true => None,
                false => Some(slot.place(&asking.turn).await),
            };
            // It may have become another workspace's while this stood in line.
            let list = match server.serves(&slot, &whose) {
                true => slot.offers(&session, kind, &sending).await,
                false => Err(CallError::NotSent),
            };
            match list {
                Err(CallError::NotSent) if !last => {}
                Err(error) => return Err(refused(&path, error).await),
                Ok(list) => return Ok(list),
            }
        }
        Err(refused(&path, CallError::NotSent).await)
    }

    /// One of them, as MCP has it, by the path of the call that it is. It is written down like one.
    pub async fn ask(
        &self,
        server: &str,
        wanted: &Wanted,
        asking: &Asking,
        observer: &dyn CallObserver,
    ) -> Result<Value, Fault> {
        let path = format!("{server}.{}", wanted.method());
        let mut entry = self.audit.call(&path, None, &asking.caller);
        let given = wanted.given();
        entry.read(|| given.to_string());
        let fetched = self.fetch((server, wanted), given, asking, observer, &mut entry);
        let (outcome, bytes) = match fetched.await {
            Ok((value, bytes)) => (Ok(value), bytes),
            Err(fault) => (Err(fault), 0),
        };
        entry.ended(outcome.as_ref().map(|_| bytes));
        outcome
    }

    /// With the bytes of its text.
    async fn fetch(
        &self,
        (server, wanted): (&str, &Wanted),
        given: Value,
        asking: &Asking,
        observer: &dyn CallObserver,
        entry: &mut Entry,
    ) -> Result<(Value, usize), Fault> {
        let way = self.open_way(server, (wanted.method(), given.clone()), asking, entry);
        let (server, path, ask) = way.await?;
        match (ask, wanted) {
            (None, _) => {}
            // Clients complete what somebody types, letter by letter.
            (ask, Wanted::Completion(_)) => nobody_asked(&path, ask)?,
            (Some(ask), Wanted::Resource { .. } | Wanted::Prompt { .. }) => {
                let permission = Permission {
                    path: &path,
                    server: &server,
                    what: What::Offer(given),
                    asking,
                };
                let approved = self.approved_offer(ask, &permission, observer, entry);
                approved.await?;
            }
        }
        let (within, whole) = call_times(&server, None)?;
        let whose = Whose::of(&asking.caller);
        let trace = &asking.caller.trace;
        let Held { slot, mut session } = ready(&server, (&whose, trace), observer).await?;
        let place = slot.place(&asking.turn).await;
        let started = Instant::now();
        let number = observer.call_started(&path);
        entry.numbered(number);
        let traced = spans::offer(trace, &server, &session, wanted);
        let sending = Sending {
            caller: Some(&asking.caller),
            place: Some(&place),
            within,
            whole,
            progress: &|progress: Progress| observer.call_progress(number, &path, progress),
            trace: traced.trace().context().map(|context| &**context),
        };
        let mut outcome = match server.serves(&slot, &whose) {
            true => session.ask(wanted, &sending).await,
            false => Err(CallError::NotSent),
        };
        if let Err(CallError::NotSent) = outcome {
            // It ended while this stood in line, or a moment ago.
            match ready(&server, (&whose, trace), observer).await {
                Ok(next) => session = next.session,
                Err(fault) => {
                    observer.call_ended(number, &path, started.elapsed(), Err(&fault));
                    return Err(fault);
                }
            }
            outcome = session.ask(wanted, &sending).await;
        }
        traced.ended(|| spans::failed(Ok(&outcome)));
        let took = started.elapsed();
        let outcome = match outcome {
            Ok(value) => {
                let (value, text) = json_weight::with_text(value).await;
                Ok((value, text.len()))
            }
            Err(error) => Err(refused(&path, error).await),
        };
        let told = outcome.as_ref().map(|(_, bytes)| *bytes);
        observer.call_ended(number, &path, took, told);
        outcome
    }

    /// From now on the connection of this mailbox is told when the resource changes.
    pub async fn follow(
        &self,
        server: &str,
        uri: &str,
        mailbox: &Arc<Mailbox>,
        asking: &Asking,
    ) -> Result<(), Fault> {
        let asked = ("resources/subscribe", json!({ "uri": uri }));
        let entry = &mut Entry::none();
        let (server, path, ask) = self.open_way(server, asked, asking, entry).await?;
        nobody_asked(&path, ask)?;
        for last in [false, true] {
            let caller = &asking.caller;
            let Held { slot, session } = server.session(&Whose::of(caller)).await?;
            match slot.follow(&session, uri, mailbox, caller).await? {
                Err(CallError::NotSent) if !last => {}
                Err(error) => return Err(refused(&path, error).await),
                Ok(followed) => return Ok(followed),
            }
        }
        Err(refused(&path, CallError::NotSent).await)
    }

    /// From now on it is told no more.
    pub async fn leave(
        &self,
        server: &str,
        uri: &str,
        scope: &Scope,
        connection: u64,
    ) -> Result<(), Fault> {
        let server = self.upstreams().find_seen(server, scope)?;
        server.leave(uri, connection).await;
        Ok(())
    }

    /// The server and the canonical path, if the caller sees it and policy lets it go there.
    async fn open_way(
        &self,
        server: &str,
        (method, given): (&str, Value),
        asking: &Asking,
        entry: &mut Entry,
    ) -> Result<(Arc<Server>, String, Option<Ask>), Fault> {
        let scope = self.scope_now(asking);
        let server = self.upstreams().find_seen(server, &scope)?;
        let path = path_of(&server, method);
        if scope.hides_path(server.name(), method) {
            let message = format!("there is no `{path}`");
            return Err(Fault::new(Kind::NotFound, message).path(path));
        }
        entry.resolved(&path);
        let ask = self.may(&server, (method, given), asking, entry).await?;
        Ok((server, path, ask))
    }

    /// Nobody is asked for a list: clients read them of their own accord, and all the time.
    async fn lists(&self, server: &Server, kind: OfferKind, asking: &Asking) -> Result<(), Fault> {
        let wanted = (kind.method(), json!({}));
        let ask = self.may(server, wanted, asking, &mut Entry::none()).await?;
        nobody_asked(&path_of(server, kind.method()), ask)
    }

    /// Whether policy lets somebody do what is no call of a tool.
    async fn may(
        &self,
        server: &Server,
        (method, given): (&str, Value),
        asking: &Asking,
        entry: &mut Entry,
    ) -> Result<Option<Ask>, Fault> {
        let wanted = Permission {
            path: &path_of(server, method),
            server,
            what: What::Offer(given),
            asking,
        };
        self.permit(&wanted, entry).await
    }
}

fn path_of(server: &Server, method: &str) -> String {
    format!("{}.{method}", server.name())
}

fn late(server: &str, wait: Duration) -> Fault {
    let message = format!("`{server}` was not asked in time: it had {wait:?}");
    Fault::new(Kind::Unavailable, message).hint("it may be starting or busy; ask again")
}

async fn refused(path: &str, error: CallError) -> Fault {
    let missing = matches!(&error, CallError::Refused { code, .. } if *code == RESOURCE_NOT_FOUND);
    let mut fault = failure(path, error).await;
    if missing {
        fault.kind = Kind::NotFound;
    }
    fault
}
