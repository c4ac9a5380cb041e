//! Encodes spans as OTLP messages. Pure.

use std::time::{Duration, UNIX_EPOCH};

use mux_telemetry::trace::{AttributeValue, EndedSpan, SpanKind};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    resource::v1::Resource,
    trace::v1::{
        ResourceSpans, ScopeSpans, Span, Status, span::SpanKind as OtlpSpanKind, status::StatusCode,
    },
};

/// The resource that every request names as the source of its spans.
pub(super) fn resource(attributes: &[(String, String)]) -> Resource {
    let attributes = attributes.iter();
    Resource {
        attributes: attributes
            .map(|(key, value)| attribute(key, any_value::Value::StringValue(value.clone())))
            .collect(),
        ..Resource::default()
    }
}

pub(super) fn request(resource: &Resource, spans: &[EndedSpan]) -> ExportTraceServiceRequest {
    let scope = InstrumentationScope {
        name: "muxd".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..InstrumentationScope::default()
    };
    let spans = ScopeSpans {
        scope: Some(scope),
        spans: spans.iter().map(span).collect(),
        ..ScopeSpans::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource.clone()),
            scope_spans: vec![spans],
            ..ResourceSpans::default()
        }],
    }
}

fn span(span: &EndedSpan) -> Span {
    let began = span.began.duration_since(UNIX_EPOCH).unwrap_or_default();
    let kind = match span.kind {
        SpanKind::Server => OtlpSpanKind::Server,
        SpanKind::Client => OtlpSpanKind::Client,
        SpanKind::Internal => OtlpSpanKind::Internal,
    };
    let attributes = span.attributes.iter().map(|(key, value)| {
        let value = match value {
            AttributeValue::Text(text) => any_value::Value::StringValue(text.clone()),
            AttributeValue::Number(number) => any_value::Value::IntValue(*number),
        };
        attribute(key, value)
    });
    Span {
        trace_id: span.context.trace.to_vec(),
        span_id: span.context.span.to_vec(),
        trace_state: span.context.tracestate().unwrap_or_default().to_owned(),
        parent_span_id: span
            .parent
            .map(|parent| parent.to_vec())
            .unwrap_or_default(),
        flags: span.context.flags().into(),
        name: span.name.clone(),
        kind: kind.into(),
        start_time_unix_nano: nanos(began),
        end_time_unix_nano: nanos(began.saturating_add(span.took)),
        attributes: attributes.collect(),
        status: span.failed.then(|| Status {
            code: StatusCode::Error.into(),
            ..Status::default()
        }),
        ..Span::default()
    }
}

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn nanos(since: Duration) -> u64 {
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
