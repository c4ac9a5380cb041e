//! A model's API whose model plays a script, and keeps every request.
//!
//! Invariant: each step is one call of an MCP tool. A step whose tool the agent does not offer, even after searches, is
//! skipped, and has no result in the transcript.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State as Given},
    http::Uri,
    response::Response,
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use super::{
    dialects::{self, Dialect, ToolCall},
    model_request::{ModelRequest, has_image, strings},
};
use crate::web::Web;

/// How often a model searches for the tool of one step. Some agents do not wait for servers that are still starting.
const MAX_SEARCHES: usize = 40;
/// How long the model thinks before it searches again.
const THINKING: Duration = Duration::from_millis(100);
/// How often a step is repeated.
const MAX_REPEATS: usize = 40;
/// In the input of a step, the first handle of a stored value that the request contains.
pub(super) const HANDLE: &str = "{handle}";
/// In the input of a step, how often it was repeated: some agents end a session whose calls are all the same.
pub(super) const REPEAT: &str = "{repeat}";

/// One call of the script.
pub struct Step {
    server: String,
    tool: String,
    input: Value,
    before: Option<Box<dyn FnOnce() + Send>>,
    until: Option<String>,
}

impl Step {
    /// A call of a tool of an MCP server.
    pub fn call(server: &str, tool: &str, input: Value) -> Self {
        Self {
            server: server.to_owned(),
            tool: tool.to_owned(),
            input,
            before: None,
            until: None,
        }
    }

    /// Does something before the call.
    #[must_use]
    pub fn after(mut self, before: impl FnOnce() + Send + 'static) -> Self {
        self.before = Some(Box::new(before));
        self
    }

    /// Repeats the call until the tools that the agent offers mention a text, or often enough.
    #[must_use]
    pub fn until_offered(mut self, text: &str) -> Self {
        self.until = Some(text.to_owned());
        self
    }
}

/// The tool of an agent that loads the definitions of other tools.
#[derive(Clone, Debug, Deserialize)]
pub struct ToolSearch {
    tool: String,
    /// JSON, with `{server}` and `{tool}`.
    input: String,
}

/// The API, which ends with this value.
pub struct ModelApi {
    web: Web,
    shared: Arc<Mutex<State>>,
}

struct State {
    /// The steps that are not over, the next one last.
    script: Vec<Step>,
    steps: usize,
    search: Option<ToolSearch>,
    searches: usize,
    repeats: usize,
    requests: Vec<ModelRequest>,
    /// The id of the last call of each step.
    calls: Vec<(usize, String)>,
}

/// All that reached the model in a session.
#[derive(Debug)]
pub struct Transcript {
    pub requests: Vec<ModelRequest>,
    calls: Vec<(usize, String)>,
}

impl ModelApi {
    pub fn start(search: Option<&ToolSearch>, mut script: Vec<Step>) -> Self {
        script.reverse();
        let shared = Arc::new(Mutex::new(State {
            steps: script.len(),
            script,
            search: search.cloned(),
            searches: 0,
            repeats: 0,
            requests: Vec::new(),
            calls: Vec::new(),
        }));
        let routes = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        Self {
            web: Web::open(routes),
            shared,
        }
    }

    pub fn url(&self) -> &str {
        &self.web.url
    }

    pub fn end(self) -> Transcript {
        drop(self.web);
        let mut state = self.shared.lock();
        Transcript {
            requests: std::mem::take(&mut state.requests),
            calls: std::mem::take(&mut state.calls),
        }
    }
}

async fn answer(Given(shared): Given<Arc<Mutex<State>>>, uri: Uri, body: Bytes) -> Response {
    let path = uri.to_string();
    let (Some(dialect), Ok(value)) = (Dialect::of(&path), serde_json::from_slice(&body)) else {
        return dialects::other_answer(&path, body.len());
    };
    let request = ModelRequest(value);
    let (number, call, searches) = {
        let mut state = shared.lock();
        state.requests.push(request.clone());
        let call = state.next_call(&request);
        (state.requests.len(), call, state.searches)
    };
    if searches > 1 {
        tokio::time::sleep(THINKING).await;
    }
    dialect.answer(number, &path, &request.0, call.as_ref())
}

impl State {
    fn next_call(&mut self, request: &ModelRequest) -> Option<ToolCall> {
        // Agents have a model do other things beside the conversation, such as to name it.
        let tools = request.tools();
        if tools.is_empty() {
            return None;
        }
        let id = format!("call_{}", self.requests.len());
        loop {
            let number = self.steps - self.script.len();
            let step = self.script.last_mut()?;
            if let Some(before) = step.before.take() {
                before();
            }
            let is_over = step.until.as_deref().is_some_and(|text| {
                let mut offered = tools.iter().map(|tool| strings(&tool.definition));
                offered.any(|tool| tool.contains(text)) || self.repeats == MAX_REPEATS
            });
            let found = request.tool(&step.server, &step.tool);
            if let (false, Some(tool)) = (is_over, found) {
                let input = filled(&step.input, request, self.repeats);
                match step.until {
                    Some(_) => self.repeats += 1,
                    None => self.next_step(),
                }
                self.calls.retain(|(step, _)| *step != number);
                self.calls.push((number, id.clone()));
                return Some(ToolCall {
                    id,
                    namespace: tool.namespace,
                    name: tool.name,
                    input,
                    is_search_item: false,
                });
            }
            let search = self.search.as_ref().filter(|search| {
                !is_over
                    && self.searches < MAX_SEARCHES
                    && tools.iter().any(|tool| tool.name == search.tool)
            });
            if let Some(search) = search {
                self.searches += 1;
                let input = search.input.replace("{server}", &step.server);
                let input = input.replace("{tool}", &step.tool);
                let offered = tools.iter().find(|tool| tool.name == search.tool)?;
                return Some(ToolCall {
                    id,
                    namespace: None,
                    name: search.tool.clone(),
                    input: serde_json::from_str(&input).unwrap(),
                    is_search_item: offered.definition["type"] == "tool_search",
                });
            }
            self.next_step();
        }
    }

    fn next_step(&mut self) {
        self.script.pop();
        (self.searches, self.repeats) = (0, 0);
    }
}

fn filled(input: &Value, request: &ModelRequest, repeats: usize) -> Value {
    let written = input.to_string().replace(REPEAT, &repeats.to_string());
    if !written.contains(HANDLE) {
        return serde_json::from_str(&written).unwrap();
    }
    let text = request.text();
    let handle = text.match_indices("h_").find_map(|(at, _)| {
        let digits = text[at + 2..].chars().take_while(char::is_ascii_hexdigit);
        let end = at + 2 + digits.count();
        (end > at + 20).then(|| &text[at..end])
    });
    serde_json::from_str(&written.replace(HANDLE, handle.unwrap_or("none"))).unwrap()
}

/// The result of a call, as the model got it.
#[derive(Debug)]
pub struct SeenResult {
    /// Every string of the result.
    pub text: String,
    pub has_image: bool,
    /// Every string of the request that brought it.
    pub request: String,
}

impl Transcript {
    /// The result of a step, by its number; of its last call, if it was repeated.
    pub fn result(&self, step: usize) -> Option<SeenResult> {
        let (_, call) = self.calls.iter().find(|(number, _)| *number == step)?;
        self.requests.iter().find_map(|request| {
            let result = request.result(call)?;
            Some(SeenResult {
                text: strings(result),
                // Gemini has the images of a result beside it.
                has_image: has_image(&request.0),
                request: request.text(),
            })
        })
    }

    /// How a tool was defined when it was first offered.
    pub fn first_definition(&self, server: &str, tool: &str) -> Option<Value> {
        let mut definitions = self.definitions(server, tool);
        definitions.next()
    }

    /// How a tool was defined at the end.
    pub fn last_definition(&self, server: &str, tool: &str) -> Option<Value> {
        self.definitions(server, tool).last()
    }

    fn definitions(&self, server: &str, tool: &str) -> impl Iterator<Item = Value> {
        let requests = self.requests.iter();
        requests.filter_map(move |request| request.definition(server, tool))
    }

    /// Every string of the first request that contains a text.
    pub fn first_text_with(&self, text: &str) -> String {
        let mut texts = self.requests.iter().map(ModelRequest::text);
        texts.find(|it| it.contains(text)).unwrap_or_default()
    }
}
