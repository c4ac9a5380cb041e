//! Text formats: Prometheus 0.0.4, or OpenMetrics on request.
//!
//! Invariant: both formats have the same samples.

use std::fmt::Write as _;

use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    registry::Registry,
};

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum TextFormat {
    #[default]
    Prometheus,
    OpenMetrics,
}

impl TextFormat {
    /// The format for an `Accept` header.
    pub fn of(accept: &str) -> Self {
        let mut ranges = accept.split(',');
        let open = ranges.any(|range| {
            let kind = range.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/openmetrics-text")
        });
        if open {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

pub(super) fn of(registries: &[&Registry], format: TextFormat) -> String {
    let mut text = String::new();
    for registry in registries {
        // Writing to a string does not fail.
        _ = encode_registry(&mut text, registry);
    }
    match format {
        TextFormat::OpenMetrics => {
            _ = encode_eof(&mut text);
            text
        }
        TextFormat::Prometheus => plain(&text),
    }
}

/// Converts OpenMetrics to Prometheus' format, which declares a counter with the `_total` of its samples.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 1_024);
    let mut help = None;
    for line in text.lines() {
        if let Some(declared) = line.strip_prefix("# HELP ") {
            help = Some(declared);
        } else if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, kind) = declared.split_once(' ').unwrap_or((declared, "untyped"));
            let suffix = if kind == "counter" { "_total" } else { "" };
            if let Some((_, words)) = help.take().and_then(|help| help.split_once(' ')) {
                _ = writeln!(plain, "# HELP {name}{suffix} {words}");
            }
            _ = writeln!(plain, "# TYPE {name}{suffix} {kind}");
        } else if !line.starts_with('#') {
            plain.push_str(line);
            plain.push('\n');
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_declared_with_total_suffix() {
        let open = "# HELP a How many.\n# TYPE a counter\na_total{x=\"#\"} 3\n# HELP b_seconds B.\n\
                    # TYPE b_seconds gauge\n# UNIT b_seconds seconds\nb_seconds 1.5\n# EOF\n";
        assert_eq!(
            plain(open),
            "# HELP a_total How many.\n# TYPE a_total counter\na_total{x=\"#\"} 3\n# HELP b_seconds B.\n\
             # TYPE b_seconds gauge\nb_seconds 1.5\n"
        );
    }

    #[test]
    fn openmetrics_is_used_only_on_request() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.3";
        for (accept, format) in [
            ("", TextFormat::Prometheus),
            ("*/*", TextFormat::Prometheus),
            ("text/plain", TextFormat::Prometheus),
            (prometheus, TextFormat::OpenMetrics),
        ] {
            assert_eq!(TextFormat::of(accept), format, "{accept}");
        }
    }
}
