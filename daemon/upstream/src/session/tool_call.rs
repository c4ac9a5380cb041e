//! One tool call, as the session's era requires.
//!
//! Invariant: a call counts as in flight until its last request has ended.

use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequest, CallToolRequestParams};
use serde_json::{Map, Value, json};

use super::{
    Session,
    input_required::{InputAnswers, RoundBudget},
    request::RequestOptions,
};
use crate::{calls::CallError, link::raw_message};
use mux_catalog::{ProtocolEra, Tool};

impl Session {
    /// Sends one call. Dropping the future cancels it at the server.
    pub async fn call(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        // A call also counts as in flight between two of its requests.
        let _counted = self.calls.token();
        let started = Instant::now();
        // Time spent waiting for a user does not make the server slow.
        let paused = || {
            options
                .caller
                .map_or(Duration::ZERO, |caller| caller.clock.paused_for())
        };
        let before = paused();
        let outcome = self.call_by_era(tool, arguments, options).await;
        let paused_meanwhile = paused().saturating_sub(before);
        self.health.latency.record_call_duration(
            tool.server_name(),
            started.elapsed().saturating_sub(paused_meanwhile),
        );
        let result = outcome.and_then(tool_result);
        match &result {
            Ok(_) => self.health.record_answer(),
            Err(CallError::Refused { .. }) => self.health.record_refusal(),
            Err(error @ (CallError::Declined(_) | CallError::Unknown(_))) => {
                self.health.record_failure(error.to_string());
            }
            Err(_) => {}
        }
        result
    }

    /// Calls as the era requires: as a task, in several rounds, or in one request.
    async fn call_by_era(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        let budget = RoundBudget::of(options);
        let needs_task = self.era == ProtocolEra::Legacy && tool.needs_task;
        let tool = tool.server_name();
        if needs_task {
            Box::pin(self.call_as_task(tool, arguments, &budget, options)).await
        } else {
            let request = |answers: InputAnswers| {
                let mut params = CallToolRequestParams::new(tool.to_owned());
                params.arguments = Some(arguments.clone());
                params.input_responses = answers.responses;
                params.request_state = answers.state;
                CallToolRequest::new(params).into()
            };
            let result = self.request_in_rounds(request, &budget, options).await?;
            if self.era == ProtocolEra::Modern && result["resultType"] == "task" {
                Box::pin(self.follow_task(&result, &budget, options)).await
            } else {
                Ok(result)
            }
        }
    }
}

/// Checks a tool result. The reader has repaired the result. A source's own result is complete.
fn tool_result(result: Value) -> Result<Value, CallError> {
    let mut result = raw_message::strip_modern_fields(result);
    if let Some(members) = result.as_object_mut() {
        members.entry("content").or_insert_with(|| json!([]));
        return Ok(result);
    }
    Err(CallError::Protocol(
        "its answer to the call is not a tool result".into(),
    ))
}
