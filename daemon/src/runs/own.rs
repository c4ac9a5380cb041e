//! Functions of `mux` that the daemon itself answers, such as `mux.read`.
//!
//! Invariant: they are calls in the budget of the run, and reach no server.

use mux_sandbox::{Fault, Kind, limits::MOST_ANSWER};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{handles::Handles, nearest::nearest, nesting};

/// Their names, as they stand after `mux.`.
const NAMES: &[&str] = &["read"];

/// What `mux.read` is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    handle: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    length: Option<u64>,
}

/// Gives the answer as JSON text. `arguments` is an object, as the guest's side of the bridge made it.
pub(super) async fn call(name: &str, arguments: &str, handles: &Handles) -> Result<String, Fault> {
    let path = || format!("mux.{name}");
    nesting::check(arguments, "the argument").map_err(|fault| fault.path(path()))?;
    let answer = match name {
        "read" => read(arguments, handles).await,
        _ => return Err(unknown(name)),
    };
    answer.map_err(|fault| fault.path(path()))
}

/// The whole value, or a page of its JSON text if a range is asked for.
async fn read(arguments: &str, handles: &Handles) -> Result<String, Fault> {
    let Read {
        handle,
        offset,
        length,
    } = serde_json::from_str(arguments)
        .and_then(|object: Map<String, Value>| Read::deserialize(Value::Object(object)))
        .map_err(|error| {
        Fault::new(Kind::Validation, format!("mux.read does not take this: {error}")).hint(
            "mux.read(handle: string, { offset?: number, length?: number }): bytes of JSON text, whole \
             numbers from 0 on",
        )
    })?;
    if offset.is_none() && length.is_none() {
        return handles.whole(&handle, MOST_ANSWER).await;
    }
    let page = handles.read(&handle, offset.unwrap_or(0), length).await?;
    let page = json!({
        "text": page.text,
        "offset": page.offset,
        "next": page.next,
        "total": page.total,
    });
    Ok(page.to_string())
}

fn unknown(name: &str) -> Fault {
    let shown: String = name.chars().take(80).collect();
    let fault = Fault::new(
        Kind::NotFound,
        format!("there is no function `mux.{shown}`"),
    );
    fault.hint(match nearest(&shown, NAMES.iter().copied()) {
        Some(near) => format!("did you mean mux.{near}?"),
        None => format!(
            "there are {}, and the tools: see `mux tools`",
            NAMES.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handles::Terms;

    async fn asked(handles: &Handles, arguments: Value) -> Result<Value, Fault> {
        let text = call("read", &arguments.to_string(), handles).await?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    #[tokio::test]
    async fn a_value_is_read_whole_or_in_pages() {
        let home = tempfile::tempdir().unwrap();
        let handles = Handles::open(home.path().join("results"), Terms::default());
        let value = json!({ "text": "ä".repeat(1000) });
        let handle = handles.keep(value.to_string(), "it").await.unwrap().name;
        assert_eq!(
            asked(&handles, json!({ "handle": handle })).await.unwrap(),
            value
        );
        let page = asked(
            &handles,
            json!({ "handle": handle, "offset": 9, "length": 3 }),
        );
        assert_eq!(
            page.await.unwrap(),
            json!({ "text": "ä", "offset": 9, "next": 11, "total": 2011 })
        );
        let end = asked(&handles, json!({ "handle": handle, "offset": u64::MAX }));
        assert_eq!(end.await.unwrap()["next"], Value::Null);
        for (wrong, kind) in [
            (json!({ "handle": "h_" }), Kind::Validation),
            (json!({ "handle": 7 }), Kind::Validation),
            (json!({ "handle": handle, "offset": -1 }), Kind::Validation),
            (json!({ "handle": handle, "offset": 0.5 }), Kind::Validation),
            (json!({ "handle": handle, "size": 1 }), Kind::Validation),
            (json!([handle]), Kind::Validation),
            (json!(null), Kind::Validation),
            (
                json!({ "handle": format!("h_{}", "0".repeat(32)) }),
                Kind::NotFound,
            ),
        ] {
            let fault = asked(&handles, wrong.clone()).await.unwrap_err();
            assert_eq!(
                (fault.kind, fault.path.as_deref()),
                (kind, Some("mux.read")),
                "{wrong}"
            );
        }
        let fault = call("raed", "{}", &handles).await.unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("did you mean mux.read?"));
        let fault = call("search", "{}", &handles).await.unwrap_err();
        assert!(fault.hint.unwrap().contains("there are read"));
    }
}
