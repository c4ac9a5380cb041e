//! A client of the daemon: requests by the protocol, over a stream in memory.

use std::{path::PathBuf, time::Duration};

use mux_proto::{
    Answer, AnswerRequest, ApprovalInfo, ApprovalsRequest, AskKind, CallRequest, ClientInfo,
    DecideRequest, Decision, Error, Event, EventKind, EventsRequest, ExplainPolicyRequest, Held,
    Hello, Language, MuxClient, Notice, NoticeKind, NoticesRequest, OfferKind, OfferList,
    OffersRequest, Outcome, PromptRequest, ResourceRequest, RunRequest, ServerInfo, ServerState,
    SessionInfo, SubscribeRequest, ToolInfo, ToolsRequest, transport,
    version::{BUILD, CONTRACT, features},
};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::home::Home;

/// Longer than any request here takes.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A client with its position in its notices.
pub(crate) struct Client {
    pub(crate) rpc: MuxClient,
    pub(crate) after: u64,
    answers: Vec<AskKind>,
    /// Notices that were received and that `next` has not returned yet.
    unread: Vec<Notice>,
}

/// Who a client says it is.
#[derive(Clone, Default)]
pub(crate) struct ClientIdentity {
    pub(crate) name: Option<&'static str>,
    pub(crate) agent: Option<&'static str>,
    pub(crate) workspace: Option<PathBuf>,
}

/// The context of a request.
pub(crate) fn within() -> tarpc::context::Context {
    transport::within(REQUEST_TIMEOUT)
}

impl Client {
    /// Connects the user's own client, which never requests notices.
    pub(crate) async fn deaf(home: &Home) -> Self {
        Self::of(home, &ClientIdentity::default()).await
    }

    /// Connects an agent's client.
    pub(crate) async fn agent(home: &Home, agent: &'static str) -> Self {
        let agent = Some(agent);
        Self::of(
            home,
            &ClientIdentity {
                agent,
                ..ClientIdentity::default()
            },
        )
        .await
    }

    /// Connects a client in this directory.
    pub(crate) async fn at(home: &Home, workspace: Option<PathBuf>) -> Self {
        Self::of(
            home,
            &ClientIdentity {
                workspace,
                ..ClientIdentity::default()
            },
        )
        .await
    }

    pub(crate) async fn of(home: &Home, identity: &ClientIdentity) -> Self {
        let rpc = home.dial().await;
        let hello = Hello {
            contract: CONTRACT,
            build: BUILD.into(),
            client: ClientInfo {
                name: identity.name.unwrap_or("mux").into(),
                version: "0".into(),
            },
            agent: identity.agent.map(str::to_owned),
            workspace: identity.workspace.clone(),
            features: features(),
            for_agent: false,
            profile: None,
        };
        rpc.hello(within(), hello).await.unwrap().unwrap();
        Self {
            rpc,
            after: 0,
            answers: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Connects a client that requests notices and answers these kinds of questions.
    pub(crate) async fn listening(home: &Home, answers: &[AskKind]) -> Self {
        let mut client = Self::deaf(home).await;
        client.listen(answers).await;
        client
    }

    pub(crate) async fn listen(&mut self, answers: &[AskKind]) {
        self.answers = answers.to_vec();
        assert!(self.notices(0).await.is_empty());
    }

    /// Connects a listening client after the server has started, because its tools would cause a
    /// notice otherwise.
    pub(crate) async fn ready(home: &Home, answers: &[AskKind]) -> Self {
        let starter = Self::deaf(home).await;
        starter.call("echo", json!({ "text": "x" })).await;
        Self::listening(home, answers).await
    }

    pub(crate) async fn notices(&self, wait_ms: u64) -> Vec<Notice> {
        let request = NoticesRequest {
            after: self.after,
            wait_ms,
            answers: self.answers.clone(),
        };
        let page = self.rpc.notices(within(), request);
        page.await.unwrap().unwrap().notices
    }

    /// Waits for the next notice.
    pub(crate) async fn next(&mut self) -> NoticeKind {
        for _ in 0..10 {
            if self.unread.is_empty() {
                self.unread = self.notices(5_000).await;
            }
            if !self.unread.is_empty() {
                let notice = self.unread.remove(0);
                assert!(notice.seq > self.after);
                self.after = notice.seq;
                return notice.notice;
            }
        }
        panic!("no notice came");
    }

    /// Waits for the next question, and returns its number, kind and params.
    ///
    /// Skips list changes: a reconnected server may list its tools differently.
    pub(crate) async fn question(&mut self) -> (u64, AskKind, Value) {
        let mut next = self.next().await;
        while let NoticeKind::Changed { .. } = next {
            next = self.next().await;
        }
        match next {
            NoticeKind::Ask {
                ask,
                kind,
                params,
                server,
                ..
            } => {
                assert_eq!(server, "fix");
                (ask, kind, params)
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn answer(&self, ask: u64, answer: Answer) -> Result<(), Error> {
        let request = AnswerRequest { ask, answer };
        self.rpc.answer(within(), request).await.unwrap()
    }

    /// Starts a call of a tool of `fix`, or of one at a path, in the background.
    pub(crate) fn begin(&self, tool: &str, arguments: Value) -> JoinHandle<Result<Value, Error>> {
        let path = if tool.contains('.') {
            tool.to_owned()
        } else {
            format!("fix.{tool}")
        };
        self.begin_request(CallRequest {
            path,
            arguments: arguments.into(),
            token: Some(format!("token of {tool}")),
            ..CallRequest::default()
        })
    }

    pub(crate) fn begin_request(&self, request: CallRequest) -> JoinHandle<Result<Value, Error>> {
        let rpc = self.rpc.clone();
        tokio::spawn(async move {
            match rpc.call(within(), request).await.unwrap()?.result {
                Held::Value(value) => Ok(value.to_value()),
                Held::Stored(handle) => panic!("{handle:?}"),
            }
        })
    }

    pub(crate) async fn try_call(&self, tool: &str, arguments: Value) -> Result<Value, Error> {
        self.begin(tool, arguments).await.unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.try_call(tool, arguments).await.unwrap()
    }

    /// The error of a call that must fail.
    pub(crate) async fn fails(&self, tool: &str, arguments: Value) -> Error {
        self.try_call(tool, arguments).await.unwrap_err()
    }

    pub(crate) async fn offers(
        &self,
        kind: OfferKind,
        server: Option<&str>,
    ) -> Result<OfferList, Error> {
        self.offers_within(kind, server, None).await
    }

    pub(crate) async fn offers_within(
        &self,
        kind: OfferKind,
        server: Option<&str>,
        wait_ms: Option<u64>,
    ) -> Result<OfferList, Error> {
        let request = OffersRequest {
            kind,
            server: server.map(str::to_owned),
            wait_ms,
        };
        self.rpc.offers(within(), request).await.unwrap()
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<Held, Error> {
        let request = ResourceRequest {
            server: "fix".into(),
            uri: uri.into(),
            token: None,
            meta: Map::default(),
        };
        self.rpc.read_resource(within(), request).await.unwrap()
    }

    pub(crate) async fn get_prompt(&self, name: &str, arguments: Value) -> Result<Held, Error> {
        let request = PromptRequest {
            server: "fix".into(),
            name: name.into(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            token: None,
            meta: Map::default(),
        };
        self.rpc.get_prompt(within(), request).await.unwrap()
    }

    pub(crate) async fn subscribe(&self, uri: &str, subscribe: bool) -> Result<(), Error> {
        let request = SubscribeRequest {
            server: "fix".into(),
            uri: uri.into(),
            subscribe,
        };
        self.rpc.subscribe(within(), request).await.unwrap()
    }

    /// Starts a step program and returns the id of its run.
    pub(crate) async fn start(&self, program: &Value, detach: bool) -> String {
        let request = RunRequest {
            source: program.to_string(),
            language: Language::Json,
            detach,
            no_check: true,
            ..RunRequest::default()
        };
        let started = self.rpc.start_run(within(), request);
        started.await.unwrap().unwrap().run
    }

    /// Starts a program that calls these tools one after the other.
    pub(crate) async fn start_steps(&self, calls: &[(&str, Value)], detach: bool) -> String {
        let mut steps: Vec<Value> = Vec::new();
        for (number, (tool, args)) in calls.iter().enumerate() {
            let mut step = json!({ "id": format!("s{number}"), "tool": tool, "args": args });
            if number > 0 {
                step["after"] = json!(format!("s{}", number - 1));
            }
            steps.push(step);
        }
        self.start(&json!({ "steps": steps }), detach).await
    }

    /// The summary of a program of steps that must succeed.
    pub(crate) async fn summary(&self, run: &str) -> Value {
        match self.outcome(run).await {
            Outcome::Result(summary) => summary.to_value(),
            other => panic!("{other:?}"),
        }
    }

    /// The error of a run that must fail.
    pub(crate) async fn failure(&self, run: &str) -> Error {
        match self.outcome(run).await {
            Outcome::Error(error) => error,
            other => panic!("{other:?}"),
        }
    }

    /// All events of a run, up to its end.
    pub(crate) async fn events(&self, run: &str) -> Vec<Event> {
        let ended = |event: &Event| matches!(event.event, EventKind::Ended { .. });
        self.events_until(run, ended).await
    }

    /// The events of a run, up to one that counts as the last.
    pub(crate) async fn events_until(
        &self,
        run: &str,
        last: impl Fn(&Event) -> bool,
    ) -> Vec<Event> {
        let mut seen: Vec<Event> = Vec::new();
        while !seen.iter().any(&last) {
            let request = EventsRequest {
                run: run.into(),
                after: seen.last().map_or(0, |event| event.seq),
                wait_ms: 20_000,
            };
            let page = self.rpc.events(within(), request);
            seen.extend(page.await.unwrap().unwrap().events);
        }
        seen
    }

    pub(crate) async fn outcome(&self, run: &str) -> Outcome {
        match self.events(run).await.pop().unwrap().event {
            EventKind::Ended { outcome } => outcome,
            other => panic!("{other:?}"),
        }
    }

    /// The approvals that exist, once there are this many.
    pub(crate) async fn approvals_once(&self, count: usize) -> Vec<ApprovalInfo> {
        let mut known = None;
        loop {
            let request = ApprovalsRequest {
                known,
                wait_ms: 20_000,
                ..ApprovalsRequest::default()
            };
            let list = self.rpc.approvals(within(), request);
            let list = list.await.unwrap().unwrap();
            if list.approvals.len() == count {
                return list.approvals;
            }
            known = Some(list.edition);
        }
    }

    pub(crate) async fn decide(&self, approval: &str, decision: Decision) -> Result<(), Error> {
        self.decide_because(approval, decision, None).await
    }

    pub(crate) async fn decide_because(
        &self,
        approval: &str,
        decision: Decision,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let request = DecideRequest {
            approval: approval.into(),
            decision,
            reason: reason.map(str::to_owned),
            shown: Vec::new(),
        };
        self.rpc.decide(within(), request).await.unwrap().map(drop)
    }

    pub(crate) async fn reload(&self) {
        self.rpc.reload(within()).await.unwrap().unwrap();
    }

    /// Waits until the server's session with this number has ended. There may be another by then.
    pub(crate) async fn until_ended(&self, name: &str, session: u64) {
        loop {
            let server = self.server(name).await;
            if server.starts > session || server.state != ServerState::Ready {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until `fix` has this number of open sessions.
    pub(crate) async fn until_sessions(&self, count: usize) {
        let is_open = |session: &&SessionInfo| session.state == ServerState::Ready;
        loop {
            let server = self.server("fix").await;
            if server.sessions.iter().filter(is_open).count() == count {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// The policy decision about a call.
    pub(crate) async fn explain(&self, path: &str) -> Value {
        self.explain_request(ExplainPolicyRequest {
            path: path.into(),
            ..ExplainPolicyRequest::default()
        })
        .await
    }

    pub(crate) async fn explain_request(&self, request: ExplainPolicyRequest) -> Value {
        let output = self.rpc.explain_policy(within(), request);
        json!(output.await.unwrap().unwrap())
    }

    /// Waits until `fix` has this number of calls in flight.
    pub(crate) async fn until_waiting(&self, calls: u64) {
        while self.server("fix").await.in_flight != calls {
            tokio::task::yield_now().await;
        }
    }

    /// The entry of one server.
    pub(crate) async fn server(&self, name: &str) -> ServerInfo {
        let servers = self.rpc.servers(within()).await.unwrap().unwrap();
        let mut found = servers.into_iter().filter(|server| server.name == name);
        found.next().unwrap()
    }

    /// The tools of all servers.
    pub(crate) async fn tools(&self, request: ToolsRequest) -> Vec<ToolInfo> {
        self.rpc
            .tools(within(), request)
            .await
            .unwrap()
            .unwrap()
            .tools
    }
}

/// The answer of a user who accepts and enters this name in the form.
pub(crate) fn accepted(name: &str) -> Answer {
    Answer::Result(json!({ "action": "accept", "content": { "name": name } }))
}
