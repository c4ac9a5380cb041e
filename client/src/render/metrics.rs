//! Metrics: as Prometheus' text, or as JSON.

use std::process::ExitCode;

use super::terminal::println;
use mux_proto::{Metrics, MetricsFormat, metrics_text};
use serde_json::json;

use super::{output_exit_code, print_data, print_document};

pub(crate) fn metrics(metrics: &Metrics, json: bool) -> ExitCode {
    if json {
        print_document(metrics);
        return ExitCode::SUCCESS;
    }
    let text = metrics_text(metrics, MetricsFormat::Prometheus);
    output_exit_code(print_data(&text))
}

/// Prints the token of the metrics port. For its use, see docs/guides/observe.md.
pub(crate) fn metrics_token(token: &str, json: bool) -> ExitCode {
    if json {
        print_document(&json!({ "token": token }));
    } else {
        println!("{token}");
    }
    ExitCode::SUCCESS
}
