//! `mux.read`: reads stored values, which were too long to be passed inline.

use mux_sandbox::limits::MAX_ANSWER_BYTES;
use mux_wire::Fault;
use serde::Deserialize;
use serde_json::json;

use super::parse_arguments;
use mux_handles::StoredValues;

const READ_USAGE: &str = "mux.read(handle: string, { offset?: number, length?: number }): bytes of JSON text, whole numbers \
                     from 0 on";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    handle: String,
    offset: Option<u64>,
    length: Option<u64>,
}

/// Returns the whole value, or a page of its JSON if the arguments have a range.
pub(crate) async fn read(arguments: &str, handles: &StoredValues) -> Result<String, Fault> {
    let ReadArguments {
        handle,
        offset,
        length,
    } = parse_arguments("read", arguments, READ_USAGE)?;
    if offset.is_none() && length.is_none() {
        return handles.read_whole(&handle, MAX_ANSWER_BYTES).await;
    }
    let page = handles
        .read_page(&handle, offset.unwrap_or(0), length)
        .await?;
    let page = json!({
        "text": page.text,
        "offset": page.offset,
        "next": page.next,
        "total": page.total,
    });
    Ok(page.to_string())
}

#[cfg(test)]
mod tests {
    use mux_wire::FaultKind;
    use serde_json::Value;

    use super::*;
    use mux_settings::StoredValueLimits;

    async fn asked(handles: &StoredValues, arguments: Value) -> Result<Value, Fault> {
        let text = read(&arguments.to_string(), handles).await?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    #[tokio::test]
    async fn a_value_is_read_whole_or_in_pages() {
        let home = tempfile::tempdir().unwrap();
        let handles = StoredValues::open(
            home.path().join("results"),
            home.path().join("key"),
            StoredValueLimits::default(),
        );
        let value = json!({ "text": "ä".repeat(1000) });
        let handle = handles.keep(value.to_string(), "it").await.unwrap().handle;
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
            (json!({ "handle": "h_" }), FaultKind::Validation),
            (json!({ "handle": 7 }), FaultKind::Validation),
            (
                json!({ "handle": handle, "offset": -1 }),
                FaultKind::Validation,
            ),
            (
                json!({ "handle": handle, "offset": 0.5 }),
                FaultKind::Validation,
            ),
            (
                json!({ "handle": handle, "size": 1 }),
                FaultKind::Validation,
            ),
            (json!([handle]), FaultKind::Validation),
            (json!(null), FaultKind::Validation),
            (
                json!({ "handle": format!("h_{}", "0".repeat(32)) }),
                FaultKind::NotFound,
            ),
        ] {
            let fault = asked(&handles, wrong.clone()).await.unwrap_err();
            assert_eq!(fault.kind, kind, "{wrong}");
        }
    }
}
