//! W3C trace context: parses and formats `traceparent` and `tracestate`.
//!
//! Invariant: a context that is passed on was parsed and is formatted here. Invalid ones are dropped.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use uuid::Uuid;

pub type TraceId = [u8; 16];
pub type SpanId = [u8; 8];

pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The flag of version 1 (sampled), and that of version 2 (random trace ID).
const KNOWN_FLAGS: u8 = 0b11;
const SAMPLED_FLAG: u8 = 0b01;
/// The maximum number of members of a `tracestate`.
const MAX_TRACESTATE_MEMBERS: usize = 32;
/// The maximum length of a `tracestate`. The standard requires at least 512.
const MAX_TRACESTATE_BYTES: usize = 2048;

/// A position in a trace: the trace and the span.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TraceContext {
    pub trace: TraceId,
    pub span: SpanId,
    flags: u8,
    /// The `tracestate` of the caller.
    state: Option<Arc<str>>,
}

impl TraceContext {
    /// Parses a context. `None` if `traceparent` is invalid. An invalid `tracestate` is dropped.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let text = traceparent.trim_matches([' ', '\t']);
        if text.len() < 55 || !text.is_ascii() {
            return None;
        }
        let (own, rest) = text.split_at(55);
        let mut fields = own.split('-');
        let [version] = bytes::<1>(fields.next()?)?;
        let context = Self {
            trace: bytes(fields.next()?)?,
            span: bytes(fields.next()?)?,
            flags: bytes::<1>(fields.next()?)?[0] & KNOWN_FLAGS,
            state: tracestate.and_then(state),
        };
        // Later versions begin like the first, and may have further fields.
        let is_whole = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let is_some = context.trace != [0; 16] && context.span != [0; 8];
        (fields.next().is_none() && is_whole && is_some).then_some(context)
    }

    /// The context of a new trace.
    pub(super) fn root() -> Self {
        Self {
            trace: Uuid::new_v4().into_bytes(),
            span: span_id(),
            flags: SAMPLED_FLAG,
            state: None,
        }
    }

    /// The context of a new span in the same trace.
    pub(super) fn child(&self) -> Self {
        Self {
            span: span_id(),
            ..self.clone()
        }
    }

    /// Returns true if the spans of the trace should be recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED_FLAG != 0
    }

    pub fn flags(&self) -> u8 {
        self.flags
    }

    pub fn traceparent(&self) -> String {
        let trace = u128::from_be_bytes(self.trace);
        let span = u64::from_be_bytes(self.span);
        format!("00-{trace:032x}-{span:016x}-{:02x}", self.flags)
    }

    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// `traceparent` and `tracestate` as HTTP headers.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let parent = (TRACEPARENT, self.traceparent());
        let state = self
            .state
            .as_deref()
            .map(|state| (TRACESTATE, state.to_owned()));
        let both = [Some(parent), state].into_iter().flatten();
        // A parsed context has only characters that are valid in a header.
        both.filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?)))
    }
}

/// A new span ID. Never all zeros, because the version bits of a UUID are not.
fn span_id() -> SpanId {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    high.to_be_bytes()
}

/// Parses `N` bytes of lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let small = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * N || !text.bytes().all(small) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Parses a `tracestate`, and removes blanks. `None` if it is invalid.
fn state(text: &str) -> Option<Arc<str>> {
    let members: Vec<&str> = text
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']))
        .filter(|member| !member.is_empty())
        .collect();
    let keys: Option<Vec<&str>> = members
        .iter()
        .map(|member| {
            let (key, value) = member.split_once('=')?;
            (is_key(key) && is_value(value)).then_some(key)
        })
        .collect();
    let mut keys = keys?;
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    let joined = members.join(",");
    let is_one = (1..=MAX_TRACESTATE_MEMBERS).contains(&count)
        && keys.len() == count
        && joined.len() <= MAX_TRACESTATE_BYTES;
    is_one.then(|| joined.into())
}

fn is_key(key: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let other = |byte: u8| letter(byte) || b"_-*/@".contains(&byte);
    let first = key.bytes().next();
    let rest = key.bytes().skip(1);
    key.len() <= 256
        && key.matches('@').count() <= 1
        && first.is_some_and(letter)
        && rest.into_iter().all(other)
}

fn is_value(value: &str) -> bool {
    let plain = |byte: u8| matches!(byte, 0x20..=0x7e) && byte != b',' && byte != b'=';
    !value.is_empty() && value.len() <= 256 && value.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn context_is_formatted_as_it_was_parsed() {
        let read =
            TraceContext::parse(PARENT, Some("rojo=00f067aa0ba902b7, congo=t61rcWkgMzE")).unwrap();
        assert_eq!(read.traceparent(), PARENT);
        let state = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
        assert_eq!(read.tracestate(), Some(state));
        assert!(read.is_sampled());
        let child = read.child();
        assert_eq!((child.trace, child.tracestate()), (read.trace, Some(state)));
        assert_ne!(child.span, read.span);
        let root = TraceContext::root();
        assert_eq!(TraceContext::parse(&root.traceparent(), None), Some(root));
    }

    #[test]
    fn additions_of_later_versions_are_ignored() {
        let later = PARENT.replacen("00-", "01-", 1);
        for text in [
            later.clone(),
            format!("{later}-more"),
            PARENT.replace("-01", "-f1"),
        ] {
            let read = TraceContext::parse(&text, None).unwrap();
            assert_eq!(read.traceparent(), PARENT, "{text}");
        }
        let unsampled = TraceContext::parse(&PARENT.replace("-01", "-00"), None).unwrap();
        assert!(!unsampled.is_sampled());
    }

    #[test]
    fn invalid_traceparents_are_rejected() {
        let zero = |part: &str| PARENT.replace(part, &"0".repeat(part.len()));
        for text in [
            String::new(),
            "00".into(),
            PARENT.to_uppercase(),
            PARENT.replace("00-", "ff-"),
            zero("4bf92f3577b34da6a3ce929d0e0e4736"),
            zero("00f067aa0ba902b7"),
            format!("{PARENT}-"),
            format!("{PARENT}\r\nX: y"),
            format!("{PARENT}-more"),
            format!("01{}more", &PARENT[2..]),
            PARENT.replace('-', "_"),
            PARENT.replace("4b", "+b"),
            "é".repeat(40),
        ] {
            assert_eq!(TraceContext::parse(&text, None), None, "{text:?}");
        }
    }

    #[test]
    fn invalid_tracestate_is_dropped_alone() {
        let long = "x".repeat(300);
        let many: Vec<String> = (0..33).map(|n| format!("k{n}=v")).collect();
        let wide: Vec<String> = (0..20)
            .map(|n| format!("k{n}={}", "v".repeat(200)))
            .collect();
        for text in [
            "",
            ", ,",
            "novalue",
            "a=",
            "A=1",
            "a=1\r\nb=2",
            "a=1,a=2",
            "a@b@c=1",
            "a=b=c",
            &format!("a={long}"),
            &many.join(","),
            &wide.join(","),
        ] {
            let read = TraceContext::parse(PARENT, Some(text)).unwrap();
            assert_eq!(read.tracestate(), None, "{text:?}");
        }
    }
}
