//! Values that are passed into a program and out of it.

use std::sync::Arc;

use mux_chance::{broken, holds, json};
use mux_sandbox::{ProgramLimits, RunRequest};
use mux_tests::pool::{self, Nothing};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::pool_in;

#[test]
fn fuzz_values_pass_through_a_program_unchanged() {
    let runtime = Runtime::new().unwrap();
    let pool = pool_in(&runtime);
    holds("values", 60, json::value(), |value| {
        let source = "return { input: mux.input, copy: JSON.parse(JSON.stringify(mux.input)) }";
        let request = RunRequest {
            input: value.to_string(),
            ..pool::request(source, ProgramLimits::default())
        };
        let cancel = CancellationToken::new();
        let run = pool.run(request, Arc::new(Nothing), &cancel);
        let result = runtime
            .block_on(run)
            .map_err(|fault| broken(format!("{fault:?}")))?;
        let result: serde_json::Value =
            serde_json::from_str(&result).map_err(|e| broken(format!("{e}: {result}")))?;
        for part in ["input", "copy"] {
            if !json::same(&result[part], &value) {
                return Err(broken(format!("{part} became {}", result[part])));
            }
        }
        Ok(())
    });
}
