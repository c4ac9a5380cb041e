//! The tools that ask before they answer.

use rmcp::ErrorData;
use serde_json::{Value, json};

use super::{
    asks::{Asker, Stop},
    calls::text,
    schemas,
};

/// The result of one call, in MCP's format.
pub(crate) async fn call(
    name: &str,
    argument: &(dyn Fn(&str) -> Value + Sync),
    asker: &Asker<'_>,
) -> Result<Value, Stop> {
    let form =
        |message: &str, schema: Value| json!({ "message": message, "requestedSchema": schema });
    let prompt = |question: &Value| {
        let content = json!({ "type": "text", "text": question });
        json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 100 })
    };
    let elicit = "elicitation/create";
    let sample = "sampling/createMessage";
    let name_form = form("What is your name?", schemas::strings(&["name"]));
    let confirmation = form("Please confirm", schemas::boolean("ok"));
    Ok(match name {
        "test_sampling" => {
            let question = ("answer", sample, prompt(&argument("prompt")));
            let answers = asker.ask(&[question]).await?;
            text(&format!("LLM response: {}", answers[0]["content"]["text"]))
        }
        "test_missing_capability" => {
            let question = ("answer", sample, prompt(&json!("Are you there?")));
            let answers = asker.ask(&[question]).await?;
            text(&format!("it said {}", answers[0]["content"]["text"]))
        }
        "test_elicitation" => {
            let message = argument("message");
            let fields = schemas::strings(&["username", "email"]);
            let form = form(message.as_str().unwrap_or_default(), fields);
            let answers = asker.ask(&[("user", elicit, form)]).await?;
            text(&format!("User response: {}", answers[0]))
        }
        "test_elicitation_sep1034_defaults" => {
            let form = form("Please check these", schemas::defaults());
            let answers = asker.ask(&[("form", elicit, form)]).await?;
            text(&format!("Elicitation completed: {}", answers[0]))
        }
        "test_elicitation_sep1330_enums" => {
            let form = form("Please choose", schemas::choices());
            let answers = asker.ask(&[("form", elicit, form)]).await?;
            text(&format!("Elicitation completed: {}", answers[0]))
        }
        "test_input_required_result_elicitation" => {
            let answers = asker.ask(&[("user_name", elicit, name_form)]).await?;
            match answers[0]["content"]["name"].as_str() {
                Some(name) => text(&format!("Hello, {name}!")),
                None => text("Hello, whoever you are!"),
            }
        }
        "test_input_required_result_sampling" => {
            let question = prompt(&json!("What is the capital of France?"));
            let answers = asker.ask(&[("capital_question", sample, question)]).await?;
            text(&format!("It says: {}", answers[0]["content"]["text"]))
        }
        "test_input_required_result_list_roots" => {
            let answers = asker
                .ask(&[("client_roots", "roots/list", json!({}))])
                .await?;
            text(&format!("Your roots: {}", answers[0]["roots"]))
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state"
        | "test_streaming_elicitation" => {
            let answers = asker.ask(&[("confirm", elicit, confirmation)]).await?;
            text(&format!("state-ok: {}", answers[0]["content"]["ok"]))
        }
        "test_input_required_result_multiple_inputs" => {
            let greeting = prompt(&json!("Generate a greeting"));
            let answers = asker
                .ask(&[
                    ("user_name", elicit, name_form),
                    ("greeting", sample, greeting),
                    ("client_roots", "roots/list", json!({})),
                ])
                .await?;
            text(&Value::from(answers).to_string())
        }
        "test_input_required_result_multi_round" => {
            let first = form("Step 1: What is your name?", schemas::strings(&["name"]));
            let name = asker.ask(&[("step1", elicit, first)]).await?;
            let second = form(
                "Step 2: What is your favorite color?",
                schemas::strings(&["color"]),
            );
            let color = asker.ask(&[("step2", elicit, second)]).await?;
            let name = &name[0]["content"]["name"];
            let color = &color[0]["content"]["color"];
            text(&format!("{name} likes {color}"))
        }
        "test_input_required_result_capabilities" => {
            let greeting = prompt(&json!("Generate a greeting"));
            let answers = asker
                .ask(&[
                    ("user_name", elicit, name_form),
                    ("greeting", sample, greeting),
                ])
                .await?;
            text(&Value::from(answers).to_string())
        }
        _ => return Err(ErrorData::invalid_params(format!("unknown tool {name}"), None).into()),
    })
}
