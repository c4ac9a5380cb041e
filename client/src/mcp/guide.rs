//! What an agent is told of the way of working: in few words with the tools, at length as a resource and
//! as a prompt.

use rmcp::model::{GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceContents};
use serde_json::json;

pub(super) const URI: &str = "mux://guide";
pub(super) const PROMPT: &str = "mux_guide";
const TITLE: &str = "How to work with mux";
const TEXT: &str = include_str!("guide.md");

/// Of the server, once a session.
pub(super) const INSTRUCTIONS: &str = "All of the user's MCP servers stand behind this one. Prefer `run`: \
one TypeScript program instead of many tool calls, so that intermediate data never comes back to you. Find \
tools with `search` and read their types with `describe` before you use what you have not seen. The \
resource mux://guide says more.";

/// Of the tool `run`, above the inventory.
pub(super) const RUN: &str = "Runs one TypeScript program on the user's tools, in place of many tool calls. \
Every tool is a typed async function `mux.<server>.<tool>(args)`.
- Top-level `await` and `return`. Only the returned value and the console come back: filter, count and join \
in the program. Independent calls go into one `Promise.all`.
- Types are checked before it runs. Do not guess: `search` and `describe` (or `mux.search`, `mux.describe` \
in a program) tell names, arguments and results.
- Only `mux` leads out: no fetch, files or imports. `mux.input` is `input`; `mux.emit(part)` hands over images.
- A failed call throws ToolError {kind, message, hint, path}. Do not blindly repeat one of kind unknown_outcome.
- A result too long for a message comes as a handle for `read` or `mux.read(handle)`.";

/// Of the tool `run_program`.
pub(super) const STEPS: &str = "Runs steps without code. In `args`, `{{id.result.path.0}}` is what an earlier \
step gave and `{{input.path}}` what `input` holds. Steps that do not refer to each other run at once; `after` \
names those to wait for. `search` and `describe` tell tools, arguments and shapes of results.";

/// Of the tool `run`, where the tools of the servers stand beside it anyway.
pub(super) const INVENTORY: &str = "Tools, as `mux.` calls them:";

pub(super) fn resource() -> Resource {
    let mut resource = Resource::new(URI, "guide");
    resource.title = Some(TITLE.into());
    resource.mime_type = Some("text/markdown".into());
    resource
}

pub(super) fn read() -> ReadResourceResult {
    ReadResourceResult::new(vec![ResourceContents::text(TEXT, URI)])
}

pub(super) fn prompt() -> Prompt {
    Prompt::new(PROMPT, Some(TITLE), None)
}

pub(super) fn messages() -> Result<GetPromptResult, serde_json::Error> {
    serde_json::from_value(json!({
        "description": TITLE,
        "messages": [{ "role": "user", "content": { "type": "text", "text": TEXT } }],
    }))
}
