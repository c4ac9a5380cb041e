//! Checks the endpoint for spans, if one is configured.

use mux_proto::Status;

use super::CheckGroup;

pub(super) fn check_telemetry(group: &mut CheckGroup, status: &Status) {
    let Some(telemetry) = &status.telemetry else {
        return;
    };
    let Some(endpoint) = &telemetry.endpoint else {
        return;
    };
    if !telemetry.built_in {
        group.warn(
            format!("{endpoint} gets no spans: this muxd is built without OpenTelemetry"),
            "build it with `--features otel`, or remove the endpoint from [telemetry]",
        );
        return;
    }
    match &telemetry.problem {
        Some(problem) => group.warn(
            format!("spans do not reach {endpoint}, and {} were lost: {problem}", telemetry.lost),
            "start the collector, or correct `endpoint` and `headers` in [telemetry]; muxd otherwise works",
        ),
        None => group.ok(format!("spans go to {endpoint}, {} so far", telemetry.sent)),
    }
}

#[cfg(test)]
mod tests {
    use mux_proto::TelemetryStatus;

    use super::{super::CheckVerdict, *};

    #[test]
    fn endpoint_that_gets_no_spans_is_reported_with_a_fix() {
        let status = |telemetry: Option<TelemetryStatus>| {
            let mut status: Status = serde_json::from_value(serde_json::json!({
                "build": "", "contract": 5, "pid": 1, "uptime_ms": 0, "clients": 0,
                "workers": { "ready": 0, "busy": 0, "starting": 0, "waiting": 0, "layers": [], "snapshot": false },
                "checker": { "checks": 0, "cached": 0 }, "problems": [],
                "runs": { "running": 0, "succeeded": 0, "failed": 0 },
                "servers": [], "config": "", "socket": "", "log": "",
            }))
            .unwrap();
            status.telemetry = telemetry;
            CheckGroup::filled(|group| check_telemetry(group, &status)).checks
        };
        let of = |built_in, problem: Option<&str>| {
            Some(TelemetryStatus {
                built_in,
                endpoint: Some("http://x".into()),
                problem: problem.map(str::to_owned),
                ..TelemetryStatus::default()
            })
        };
        assert!(status(None).is_empty());
        assert!(status(Some(TelemetryStatus::default())).is_empty());
        let verdict = |telemetry| status(telemetry)[0].verdict;
        assert_eq!(verdict(of(true, None)), CheckVerdict::Ok);
        assert_eq!(verdict(of(true, Some("why"))), CheckVerdict::Warning);
        let without = &status(of(false, None))[0];
        assert_eq!(without.verdict, CheckVerdict::Warning);
        assert!(without.fix.as_ref().unwrap().contains("--features otel"));
    }
}
