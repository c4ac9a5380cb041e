//! The language server protocol, as far as checking needs it: frames, messages, diagnostics.
//!
//! Invariant: what the child says is read with limits, and what it asks is answered, because it would
//! wait for the answer.

use std::{io, path::Path};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// The longest message in bytes.
const MAX_LSP_MESSAGE_BYTES: usize = 16 << 20;
/// The longest line of a header.
const MAX_HEADER_LINE_BYTES: u64 = 1 << 10;
const MAX_HEADER_LINES: usize = 16;

/// What the child says.
#[derive(Deserialize)]
pub(super) struct LspMessage {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    pub(super) params: Option<Box<RawValue>>,
    pub(super) result: Option<Box<RawValue>>,
    pub(super) error: Option<Value>,
}

/// The answer to `textDocument/diagnostic`.
#[derive(Default, Deserialize)]
pub(super) struct DiagnosticReport {
    #[serde(default)]
    pub(super) items: Vec<LspDiagnostic>,
}

/// One diagnostic as the compiler has it.
#[derive(Debug, Deserialize)]
pub(super) struct LspDiagnostic {
    pub(super) range: LspRange,
    /// 1 is an error; the others are advice.
    #[serde(default = "default_severity")]
    pub(super) severity: u8,
    #[serde(default)]
    pub(super) code: u32,
    pub(super) message: String,
}

fn default_severity() -> u8 {
    1
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct LspRange {
    pub(super) start: LspPosition,
    pub(super) end: LspPosition,
}

/// Both count from 0, columns in UTF-16 code units.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct LspPosition {
    pub(super) line: u32,
    pub(super) character: u32,
}

/// A message as it goes over the pipe.
pub(super) fn encode_message(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The next message, `None` at the end.
pub(super) async fn read_message(
    pipe: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<LspMessage>> {
    let mut length = None;
    for number in 0.. {
        let mut line = Vec::new();
        (&mut *pipe)
            .take(MAX_HEADER_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .await?;
        if line.is_empty() && number == 0 {
            return Ok(None);
        }
        let Some(line) = line
            .strip_suffix(b"\n")
            .filter(|_| number < MAX_HEADER_LINES)
        else {
            return Err(invalid_message("a header that does not end"));
        };
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(invalid_message("what is no header"));
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let length = length
        .filter(|length| *length <= MAX_LSP_MESSAGE_BYTES)
        .ok_or_else(|| invalid_message("no length, or one that is too long"))?;
    let mut body = vec![0; length];
    pipe.read_exact(&mut body).await?;
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|_| invalid_message("what is no message"))
}

fn invalid_message(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("it does not speak LSP: it sent {what}"),
    )
}

/// The answer to what the child asks: it has no settings, and may register what it likes.
pub(super) fn answer_compiler_request(
    id: &Value,
    method: &str,
    params: Option<&RawValue>,
) -> Value {
    let asked = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
    let result = match method {
        "workspace/configuration" => {
            let items = asked.as_ref().and_then(|asked| asked["items"].as_array());
            Value::Array(vec![Value::Null; items.map_or(0, Vec::len)])
        }
        _ => Value::Null,
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// What the child is told first.
pub(super) fn initialize_params(work: &Path) -> Value {
    json!({
        // It would watch the process itself; the end of its input does that as well.
        "processId": null,
        "rootUri": file_uri(work),
        "capabilities": { "textDocument": { "diagnostic": {} } },
        "initializationOptions": { "disablePushDiagnostics": true },
        "trace": "off",
    })
}

/// A path as a URI.
pub(super) fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(mut bytes: &[u8]) -> Vec<Result<String, String>> {
        let mut seen = Vec::new();
        loop {
            match read_message(&mut bytes).await {
                Ok(Some(message)) => seen.push(Ok(message.method.unwrap_or_default())),
                Ok(None) => return seen,
                Err(error) => {
                    seen.push(Err(error.to_string()));
                    return seen;
                }
            }
        }
    }

    #[tokio::test]
    async fn messages_come_one_after_the_other() {
        let mut bytes = encode_message(&json!({ "method": "a" }));
        bytes.extend(b"content-type: x\r\nCONTENT-LENGTH: 14\r\n\r\n{\"method\":\"b\"}");
        assert_eq!(all(&bytes).await, [Ok("a".to_owned()), Ok("b".to_owned())]);
        assert!(all(b"").await.is_empty());
    }

    #[tokio::test]
    async fn what_is_no_message_is_an_error_and_never_waited_for() {
        for bytes in [
            "Segmentation fault\n".to_owned(),
            "Content-Length: 99999999999\r\n\r\n{}".to_owned(),
            "Content-Length: x\r\n\r\n{}".to_owned(),
            "Content-Length: 2\r\n\r\n[]".to_owned(),
            "Content-Length: 20\r\n\r\n{}".to_owned(),
            "x".repeat(5000),
            "a: b\n".repeat(50),
        ] {
            let seen = all(bytes.as_bytes()).await;
            assert!(matches!(&seen[..], [Err(_)]), "{bytes:?}: {seen:?}");
        }
    }

    #[test]
    fn what_the_child_asks_is_answered() {
        let params = RawValue::from_string(r#"{"items":[{},{}]}"#.into()).unwrap();
        let told = answer_compiler_request(&json!(7), "workspace/configuration", Some(&params));
        assert_eq!(
            told,
            json!({ "jsonrpc": "2.0", "id": 7, "result": [null, null] })
        );
        let told = answer_compiler_request(&json!("ts1"), "client/registerCapability", None);
        assert_eq!(told["result"], Value::Null);
    }

    #[test]
    fn paths_are_escaped() {
        assert_eq!(
            file_uri(Path::new("/a b/ü#.ts")),
            "file:///a%20b/%C3%BC%23.ts"
        );
    }
}
