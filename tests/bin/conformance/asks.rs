//! Questions to the user of a request: in the old era as requests of the server's own, in the new one
//! as an `InputRequiredResult` that the client answers by asking again.
//!
//! Invariant: a tool is written once for both. The tool asks under a key. Answered questions are not
//! asked again, because the state that the client returns contains their answers.

use std::{
    collections::{BTreeMap, hash_map::RandomState},
    hash::BuildHasher,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientCapabilities, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion,
        ServerRequest,
    },
    service::{RequestContext, ServiceError},
};
use serde_json::{Value, json};

/// Why a tool or prompt has no result yet.
pub(crate) enum Stop {
    Error(ErrorData),
    Input(InputRequiredResult),
}

impl From<ErrorData> for Stop {
    fn from(error: ErrorData) -> Self {
        Self::Error(error)
    }
}

/// `(key, method, params)`.
pub(crate) type Question = (&'static str, &'static str, Value);

pub(crate) struct Asker<'a> {
    context: &'a RequestContext<RoleServer>,
    seal: &'a RandomState,
    answers: BTreeMap<String, Value>,
}

impl<'a> Asker<'a> {
    /// Starts with the state that the client returned. Fails if the client changed that state.
    pub(crate) fn new(
        context: &'a RequestContext<RoleServer>,
        seal: &'a RandomState,
        state: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<Self, ErrorData> {
        let mut answers = match state {
            Some(state) => unsealed(seal, state)
                .ok_or_else(|| ErrorData::invalid_params("requestState is not ours", None))?,
            None => BTreeMap::new(),
        };
        for (key, answer) in responses.unwrap_or_default() {
            if !answer.is_object() {
                let message = format!("inputResponses.{key} is not an object");
                return Err(ErrorData::invalid_params(message, None));
            }
            answers.insert(key, answer);
        }
        Ok(Self {
            context,
            seal,
            answers,
        })
    }

    /// All answers, in the order of the questions.
    pub(crate) async fn ask(&self, questions: &[Question]) -> Result<Vec<Value>, Stop> {
        let able = self.context.client_capabilities().unwrap_or_default();
        let needed = |method: &str| missing(method, &able);
        if is_modern(self.context) {
            let open: Vec<_> = questions
                .iter()
                .filter(|(key, ..)| !self.answers.contains_key(*key))
                .collect();
            if open.is_empty() {
                let answer = |(key, ..): &Question| self.answers[*key].clone();
                return Ok(questions.iter().map(answer).collect());
            }
            let askable: Vec<_> = open
                .iter()
                .filter(|(_, method, _)| needed(method).is_none())
                .collect();
            if let (true, Some(lacking)) = (askable.is_empty(), needed(open[0].1)) {
                return Err(ErrorData::missing_required_client_capability(lacking).into());
            }
            let requests = askable
                .into_iter()
                .map(|(key, method, params)| Ok(((*key).to_owned(), request(method, params)?)))
                .collect::<Result<InputRequests, ErrorData>>()?;
            let state = sealed(self.seal, &self.answers);
            return Err(Stop::Input(InputRequiredResult::new(
                Some(requests),
                Some(state),
            )));
        }
        let asked = questions.iter().map(|(_, method, params)| async {
            if let Some(lacking) = needed(method) {
                return Err(ErrorData::missing_required_client_capability(lacking));
            }
            let request: ServerRequest = request(method, params)?;
            let answer = self.context.peer.send_request(request).await;
            let answer = answer.map_err(|error| match error {
                ServiceError::McpError(error) => error,
                other => ErrorData::internal_error(other.to_string(), None),
            })?;
            serde_json::to_value(answer)
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))
        });
        Ok(futures::future::try_join_all(asked).await?)
    }
}

/// Returns true if a request is of the new era.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// A question as either of rmcp's types for it.
fn request<T: serde::de::DeserializeOwned>(method: &str, params: &Value) -> Result<T, ErrorData> {
    serde_json::from_value(json!({ "method": method, "params": params }))
        .map_err(|error| ErrorData::internal_error(format!("{method}: {error}"), None))
}

/// The capability that a client must declare to be asked this, or `None` if it did.
fn missing(method: &str, able: &ClientCapabilities) -> Option<ClientCapabilities> {
    let (name, can) = match method {
        "elicitation/create" => ("elicitation", able.elicitation.is_some()),
        "sampling/createMessage" => ("sampling", able.sampling.is_some()),
        _ => ("roots", able.roots.is_some()),
    };
    let lacking = serde_json::from_value(json!({ name: {} })).unwrap_or_default();
    (!can).then_some(lacking)
}

/// Answers that nobody but this process can have written.
fn sealed(seal: &RandomState, answers: &BTreeMap<String, Value>) -> String {
    let text = serde_json::to_string(answers).unwrap_or_default();
    format!("{:016x}{text}", seal.hash_one(&text))
}

fn unsealed(seal: &RandomState, state: &str) -> Option<BTreeMap<String, Value>> {
    let (mark, text) = state.split_at_checked(16)?;
    let ours = mark == format!("{:016x}", seal.hash_one(text));
    ours.then(|| serde_json::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_was_changed_is_not_ours() {
        let seal = RandomState::new();
        let answers = BTreeMap::from([("name".to_owned(), json!({ "action": "accept" }))]);
        let state = sealed(&seal, &answers);
        assert_eq!(unsealed(&seal, &state), Some(answers));
        assert_eq!(unsealed(&seal, &format!("{state} ")), None);
        assert_eq!(unsealed(&RandomState::new(), &state), None);
    }
}
