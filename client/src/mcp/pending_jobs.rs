//! A long request of the agent: it may be cancelled, and a server may ask questions.
//!
//! In the legacy era, a question is sent to the agent as a separate request. In the modern era, the response to the
//! request is the question, and the work is parked here until the agent repeats the request with the answer.
//!
//! Invariant: abandoned work is dropped, which cancels it in the daemon.

use std::{
    collections::{BTreeMap, HashMap},
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use futures::{FutureExt as _, future::BoxFuture};
use mux_proto::Cause;
use parking_lot::Mutex;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolResult, ClientCapabilities, GetPromptResult, InputRequiredResult, InputResponses,
        JsonObject, ProtocolVersion, ReadResourceResult, RequestMetaObject,
    },
    service::RequestContext,
};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use super::{
    progress_sender::ProgressSender,
    question_messages,
    question_router::{QuestionRouter, RegistrationGuard, ServerQuestion},
    runs_without_stored_values::RunsWithoutStoredValues,
};

/// How long parked work waits for the agent's answers.
const PARKED_JOB_TIMEOUT: Duration = Duration::from_mins(10);
/// The maximum delay between two questions that are asked together.
const QUESTION_BATCH_DELAY: Duration = Duration::from_millis(30);

/// The result of a request.
pub(super) enum JobOutput {
    Tool(CallToolResult),
    Prompt(GetPromptResult),
    Resource(ReadResourceResult),
}

/// The context of a request's work: where questions and progress go.
#[derive(Clone)]
pub(super) struct JobContext {
    pub(super) question_router: QuestionRouter,
    pub(super) questions: mpsc::UnboundedSender<ServerQuestion>,
    pub(super) progress_sender: ProgressSender,
    /// True if the agent was already told why types are not checked.
    pub(super) unchecked_warning_shown: Arc<AtomicBool>,
    pub(super) runs_without_stored_values: Arc<RunsWithoutStoredValues>,
    /// The trace of the agent's request.
    pub(super) trace: TraceContext,
    /// `_meta` of the agent's request, for the server that it is about.
    pub(super) meta: JsonObject,
}

/// A W3C trace context, unparsed.
#[derive(Clone, Default)]
pub(super) struct TraceContext {
    pub(super) parent: Option<String>,
    pub(super) state: Option<String>,
}

impl TraceContext {
    fn of(meta: &RequestMetaObject) -> Self {
        Self {
            parent: meta.get_traceparent().map(str::to_owned),
            state: meta.get_tracestate().map(str::to_owned),
        }
    }
}

impl JobContext {
    /// Registers the request. Returns a new token for the daemon, and the guard of the registration.
    pub(super) fn register_call(self) -> (String, RegistrationGuard) {
        let token = uuid::Uuid::new_v4().to_string();
        let cause = Cause::Call(token.clone());
        let registration =
            self.question_router
                .register_request(cause, self.questions, self.progress_sender);
        (token, registration)
    }
}

pub(super) type JobFuture = BoxFuture<'static, Result<JobOutput, ErrorData>>;

/// The state of a request: done, or waiting for input.
pub(super) enum JobStep {
    Done(JobOutput),
    /// The agent must repeat the request with answers.
    Asks(InputRequiredResult),
}

/// Returns true if the agent speaks MCP 2026-07-28 or later.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

struct RunningJob {
    work: JobFuture,
    questions: mpsc::UnboundedReceiver<ServerQuestion>,
    progress_sender: ProgressSender,
    /// Open questions, by the key under which the agent answers them.
    asked: BTreeMap<String, ServerQuestion>,
    /// Answers that the agent sent before the question.
    brought: InputResponses,
}

struct ParkedJob {
    job: RunningJob,
    since: Instant,
}

/// Starts requests, and keeps the requests that wait for the agent's answers.
#[derive(Default)]
pub(super) struct JobRegistry {
    question_router: QuestionRouter,
    unchecked_warning_shown: Arc<AtomicBool>,
    runs_without_stored_values: Arc<RunsWithoutStoredValues>,
    parked: Mutex<HashMap<String, ParkedJob>>,
}

impl JobRegistry {
    pub(super) fn new(question_router: QuestionRouter) -> Self {
        Self {
            question_router,
            ..Self::default()
        }
    }

    /// Starts the work, and waits until it is done or has a question.
    pub(super) async fn start_job(
        &self,
        context: &RequestContext<RoleServer>,
        brought: Option<InputResponses>,
        work: impl FnOnce(JobContext) -> JobFuture,
    ) -> Result<JobStep, ErrorData> {
        let (sender, questions) = mpsc::unbounded_channel();
        let progress_sender = ProgressSender::default();
        progress_sender.attach_request(context);
        let job = JobContext {
            question_router: self.question_router.clone(),
            questions: sender,
            progress_sender: progress_sender.clone(),
            unchecked_warning_shown: Arc::clone(&self.unchecked_warning_shown),
            runs_without_stored_values: Arc::clone(&self.runs_without_stored_values),
            trace: TraceContext::of(&context.meta),
            meta: context.meta.0.0.clone(),
        };
        let job = RunningJob {
            work: work(job),
            questions,
            progress_sender,
            asked: BTreeMap::new(),
            brought: brought.unwrap_or_default(),
        };
        self.drive_job(job, context).await
    }

    /// Continues parked work with the agent's answers.
    pub(super) async fn resume_job(
        &self,
        state: &str,
        responses: Option<InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Result<JobStep, ErrorData> {
        let parked = self.lock_parked_jobs().remove(state);
        let Some(ParkedJob { mut job, .. }) = parked else {
            let message = "no request with this requestState is waiting for input";
            return Err(ErrorData::invalid_params(message, None));
        };
        job.progress_sender.attach_request(context);
        let mut responses = responses.unwrap_or_default();
        let mut unanswered = BTreeMap::new();
        for (key, question) in std::mem::take(&mut job.asked) {
            let answered = match responses.remove(&key) {
                Some(result) => question.answer(result).await.is_ok(),
                None => false,
            };
            // A question with an invalid answer is asked again.
            if !answered {
                unanswered.insert(key, question);
            }
        }
        if !unanswered.is_empty() {
            job.asked = unanswered;
            return self.park_job(job).map(JobStep::Asks);
        }
        self.drive_job(job, context).await
    }

    async fn drive_job(
        &self,
        mut job: RunningJob,
        context: &RequestContext<RoleServer>,
    ) -> Result<JobStep, ErrorData> {
        let asks_back = is_modern(context);
        let able = context.client_capabilities().unwrap_or_default();
        let mut questions = JoinSet::new();
        let mut lacking = None;
        loop {
            tokio::select! {
                biased;
                done = AssertUnwindSafe(&mut job.work).catch_unwind() => {
                    let done = done.unwrap_or_else(|_| Err(failed_request()));
                    return match (done, lacking.filter(|_| asks_back)) {
                        // The call failed because the agent lacks the capability.
                        (Err(_), Some(needed)) => {
                            Err(ErrorData::missing_required_client_capability(needed))
                        }
                        (done, _) => done.map(JobStep::Done),
                    };
                }
                Some(question) = job.questions.recv() => {
                    if let Err(why) = question_messages::can_answer(&able, &question) {
                        lacking = Some(question_messages::needed_capabilities(&question));
                        question.refuse(&why).await;
                    } else if asks_back {
                        job.add_question(question).await;
                        job.collect_questions(&able).await;
                        if !job.asked.is_empty() {
                            return self.park_job(job).map(JobStep::Asks);
                        }
                    } else {
                        questions.spawn(question_messages::ask_agent(context.peer.clone(), question));
                    }
                }
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
            }
        }
    }

    fn park_job(&self, job: RunningJob) -> Result<InputRequiredResult, ErrorData> {
        let job = RunningJob {
            work: in_background(job.work),
            ..job
        };
        // The request that received progress gets its response now.
        job.progress_sender.detach_request();
        let requests = job
            .asked
            .iter()
            .map(|(key, question)| Ok((key.clone(), question_messages::input_request(question)?)))
            .collect::<Result<_, ErrorData>>()?;
        let state = uuid::Uuid::new_v4().to_string();
        let since = Instant::now();
        let mut parked = self.lock_parked_jobs();
        parked.retain(|_, parked| parked.since.elapsed() < PARKED_JOB_TIMEOUT);
        parked.insert(state.clone(), ParkedJob { job, since });
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    fn lock_parked_jobs(&self) -> parking_lot::MutexGuard<'_, HashMap<String, ParkedJob>> {
        self.parked.lock()
    }
}

/// The error of a request whose work panicked.
fn failed_request() -> ErrorData {
    ErrorData::internal_error("mux failed in this request; others are not affected", None)
}

/// Lets a task drive work that no request drives meanwhile.
fn in_background(work: JobFuture) -> JobFuture {
    let work = AbortOnDropHandle::new(tokio::spawn(work));
    work.map(|done| done.unwrap_or_else(|_| Err(failed_request())))
        .boxed()
}

impl RunningJob {
    /// Adds a question under the server's key, or a new key if that is taken. A question that the agent has already
    /// answered is not added.
    async fn add_question(&mut self, question: ServerQuestion) {
        let own = question.key.clone();
        if let Some(answer) = own.as_ref().and_then(|key| self.brought.remove(key))
            && question.answer(answer).await.is_ok()
        {
            return;
        }
        let free = own.filter(|key| !self.asked.contains_key(key));
        let key = free.unwrap_or_else(|| format!("ask-{}", question.ask));
        self.asked.insert(key, question);
    }

    /// Collects further questions that arrive at almost the same time.
    async fn collect_questions(&mut self, able: &ClientCapabilities) {
        while let Ok(Some(next)) = timeout(QUESTION_BATCH_DELAY, self.questions.recv()).await {
            match question_messages::can_answer(able, &next) {
                Ok(()) => self.add_question(next).await,
                Err(why) => next.refuse(&why).await,
            }
        }
    }
}
