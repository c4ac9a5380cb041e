//! The parts of the Language Server Protocol that checking needs: frames, messages, diagnostics.
//!
//! Invariant: messages of the compiler are read within limits, and its requests are answered, because it waits for the
//! responses.

use std::{fmt::Write as _, io, path::Path};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// The maximum length of a message in bytes.
const MAX_LSP_MESSAGE_BYTES: usize = 16 << 20;
/// The maximum length of a header line in bytes.
const MAX_HEADER_LINE_BYTES: u64 = 1 << 10;
const MAX_HEADER_LINES: usize = 16;

/// A message of the compiler: a request, a response or a notification.
#[derive(Deserialize)]
pub(super) struct LspMessage {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    pub(super) params: Option<Box<RawValue>>,
    pub(super) result: Option<Box<RawValue>>,
    pub(super) error: Option<Value>,
}

/// The response to `textDocument/diagnostic`.
#[derive(Default, Deserialize)]
pub(super) struct DiagnosticReport {
    #[serde(default)]
    pub(super) items: Vec<LspDiagnostic>,
}

/// A diagnostic as the compiler sends it.
#[derive(Debug, Deserialize)]
pub(super) struct LspDiagnostic {
    pub(super) range: LspRange,
    /// 1 is an error. Other values are advice.
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

/// A position. Lines and characters count from 0. Characters are UTF-16 code units.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct LspPosition {
    pub(super) line: u32,
    pub(super) character: u32,
}

/// Encodes a message with its header.
pub(super) fn encode_message(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Reads the next message, or `None` at the end of the pipe.
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
            return Err(invalid_message("an invalid header"));
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let length = length
        .filter(|length| *length <= MAX_LSP_MESSAGE_BYTES)
        .ok_or_else(|| invalid_message("no valid length, or a message that is too long"))?;
    let mut body = vec![0; length];
    pipe.read_exact(&mut body).await?;
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|_| invalid_message("an invalid message"))
}

fn invalid_message(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("it does not speak LSP: it sent {what}"),
    )
}

/// The response to a request of the compiler: all settings are null, and registrations are accepted.
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

/// The parameters of `initialize`.
pub(super) fn initialize_params(work: &Path) -> Value {
    json!({
        // The end of its input tells the compiler that the daemon has exited.
        "processId": null,
        "rootUri": file_uri(work),
        "capabilities": { "textDocument": { "diagnostic": {} } },
        "initializationOptions": { "disablePushDiagnostics": true },
        "trace": "off",
    })
}

/// A path as a `file:` URI.
pub(super) fn file_uri(path: &Path) -> String {
    // `C:\a` of Windows is `/C:/a` in a URI.
    let mut uri = String::from(if cfg!(windows) { "file:///" } else { "file://" });
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            byte => _ = write!(uri, "%{byte:02X}"),
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
    async fn messages_are_read_in_order() {
        let mut bytes = encode_message(&json!({ "method": "a" }));
        bytes.extend(b"content-type: x\r\nCONTENT-LENGTH: 14\r\n\r\n{\"method\":\"b\"}");
        assert_eq!(all(&bytes).await, [Ok("a".to_owned()), Ok("b".to_owned())]);
        assert!(all(b"").await.is_empty());
    }

    #[tokio::test]
    async fn invalid_message_is_an_error() {
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
    fn compiler_requests_are_answered() {
        let params = RawValue::from_string(r#"{"items":[{},{}]}"#.into()).unwrap();
        let answer = answer_compiler_request(&json!(7), "workspace/configuration", Some(&params));
        assert_eq!(
            answer,
            json!({ "jsonrpc": "2.0", "id": 7, "result": [null, null] })
        );
        let answer = answer_compiler_request(&json!("ts1"), "client/registerCapability", None);
        assert_eq!(answer["result"], Value::Null);
    }

    #[test]
    fn paths_are_escaped() {
        let (path, uri) = if cfg!(windows) {
            (r"C:\a b\ü#.ts", "file:///C%3A/a%20b/%C3%BC%23.ts")
        } else {
            ("/a b/ü#.ts", "file:///a%20b/%C3%BC%23.ts")
        };
        assert_eq!(file_uri(Path::new(path)), uri);
    }
}
