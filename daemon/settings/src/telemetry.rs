//! `[telemetry]`: where spans are exported. Without an endpoint, OpenTelemetry's variables in the user's environment
//! apply.
//!
//! Invariant: headers are sent only to the endpoint that they were configured with.

use percent_encoding::percent_decode_str;
use url::Url;

use super::NetworkSettings;
use mux_config::{EntryError, TelemetryEntry, environment::Environment};

/// The path of traces below an endpoint.
const TRACES_PATH: &str = "v1/traces";
const SERVICE_NAME_ATTRIBUTE: &str = "service.name";

/// The endpoint of a collector, and the resource attributes that are sent to it.
#[derive(Clone, PartialEq)]
pub struct TelemetrySettings {
    pub url: String,
    /// The endpoint for display, with secrets masked.
    pub shown: String,
    pub headers: Vec<(String, String)>,
    pub resource: Vec<(String, String)>,
    pub network: NetworkSettings,
}

/// A configured endpoint for display, and why it cannot be used.
pub type UnusableEndpoint = (String, String);

impl std::fmt::Debug for TelemetrySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TelemetrySettings")
            .field("to", &self.shown)
            .finish_non_exhaustive()
    }
}

pub(super) fn resolve(
    entry: &TelemetryEntry,
    environment: &Environment,
) -> Option<Result<TelemetrySettings, UnusableEndpoint>> {
    if entry.enabled == Some(false) {
        return None;
    }
    match &entry.endpoint {
        Some(written) => Some(telemetry_of_entry(entry, written, environment)),
        None => telemetry_of_environment(entry, environment),
    }
}

fn telemetry_of_entry(
    entry: &TelemetryEntry,
    written: &str,
    environment: &Environment,
) -> Result<TelemetrySettings, UnusableEndpoint> {
    let shown = mux_secrets::url::shown(written);
    let wrong = |key: &str| {
        let shown = shown.clone();
        let key = key.to_owned();
        move |problem: EntryError| (shown, format!("telemetry.{key}: {problem}"))
    };
    let base = environment
        .expand_without_workspace(written)
        .map_err(wrong("endpoint"))?;
    let url = traces_url(&base)
        .map_err(EntryError::from)
        .map_err(wrong("endpoint"))?;
    let headers = entry.headers.iter().map(|(name, value)| {
        let value = environment.expand_without_workspace(value);
        Ok((
            name.clone(),
            value.map_err(wrong(&format!("headers.{name}")))?,
        ))
    });
    Ok(TelemetrySettings {
        url,
        headers: headers.collect::<Result<_, UnusableEndpoint>>()?,
        shown,
        resource: resource_attributes(entry, environment),
        network: NetworkSettings::of(environment),
    })
}

fn telemetry_of_environment(
    entry: &TelemetryEntry,
    environment: &Environment,
) -> Option<Result<TelemetrySettings, UnusableEndpoint>> {
    let get = |name: &str| {
        environment
            .get(name)
            .filter(|value| !value.trim().is_empty())
    };
    // The variable for traces has precedence.
    let either = |name: &str| {
        let own = format!("OTEL_EXPORTER_OTLP_TRACES_{name}");
        get(&own).or_else(|| get(&format!("OTEL_EXPORTER_OTLP_{name}")))
    };
    let is_off = |name: &str, word: &str| get(name).is_some_and(|it| it.eq_ignore_ascii_case(word));
    if is_off("OTEL_SDK_DISABLED", "true") || is_off("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    let (written, url) = if let Some(whole) = get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        // This variable has the whole URL.
        (whole, check_endpoint(whole))
    } else {
        let base = get("OTEL_EXPORTER_OTLP_ENDPOINT")?;
        (base, traces_url(base))
    };
    let shown = mux_secrets::url::shown(written);
    if either("PROTOCOL").is_some_and(|protocol| protocol == "grpc") {
        let problem = "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and muxd supports only http/protobuf: set that, and \
                       its port (4318), in [telemetry] endpoint or for muxd in the file `env`";
        return Some(Err((shown, problem.into())));
    }
    let headers = parse_pairs(either("HEADERS").unwrap_or_default());
    Some(match url {
        Err(problem) => Err((
            shown,
            format!("the endpoint of OTEL_EXPORTER_OTLP: {problem}"),
        )),
        Ok(url) => Ok(TelemetrySettings {
            url,
            shown,
            headers,
            resource: resource_attributes(entry, environment),
            network: NetworkSettings::of(environment),
        }),
    })
}

fn traces_url(base: &str) -> Result<String, String> {
    check_endpoint(&format!(
        "{}/{TRACES_PATH}",
        base.trim().trim_end_matches('/')
    ))
}

fn check_endpoint(text: &str) -> Result<String, String> {
    let url = Url::parse(text.trim()).ok();
    match url {
        Some(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url.into()),
        // The error does not repeat the string, which may contain a password.
        _ => Err("it is not a URL such as \"http://127.0.0.1:4318\"".into()),
    }
}

/// The resource attributes of the daemon.
fn resource_attributes(entry: &TelemetryEntry, environment: &Environment) -> Vec<(String, String)> {
    let own = environment.get("OTEL_RESOURCE_ATTRIBUTES").map(parse_pairs);
    let mut resource = own.unwrap_or_default();
    let named = entry
        .service
        .as_deref()
        .or_else(|| environment.get("OTEL_SERVICE_NAME"));
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        resource.retain(|(key, _)| key != SERVICE_NAME_ATTRIBUTE);
        resource.push((SERVICE_NAME_ATTRIBUTE.into(), name.into()));
    }
    for (key, value) in [
        (SERVICE_NAME_ATTRIBUTE, "muxd"),
        ("service.version", env!("CARGO_PKG_VERSION")),
    ] {
        if !resource.iter().any(|(known, _)| known == key) {
            resource.push((key.into(), value.into()));
        }
    }
    resource
}

/// Parses percent-encoded `key=value,key=value`. Skips invalid pairs.
fn parse_pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        percent_decode_str(text.trim())
            .decode_utf8_lossy()
            .into_owned()
    };
    text.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (decoded(key), decoded(value)))
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let owned = pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        Environment::of(owned)
    }

    fn entry(text: &str) -> TelemetryEntry {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn entry_overrides_environment_and_does_not_mix_headers() {
        let environment = environment(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://elsewhere:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20theirs"),
            ("OTEL_SERVICE_NAME", "theirs"),
            ("TOKEN", "t0ken"),
        ]);
        let own = entry(
            "endpoint = \"http://me:pw@127.0.0.1:4318/\"\nservice = \"mine\"\nheaders = { X = \"${TOKEN}\" }",
        );
        let own = resolve(&own, &environment).unwrap().unwrap();
        assert_eq!(own.url, "http://me:pw@127.0.0.1:4318/v1/traces");
        assert_eq!(own.shown, "http://127.0.0.1:4318/");
        assert_eq!(own.headers, [("X".to_owned(), "t0ken".to_owned())]);
        assert!(
            own.resource
                .contains(&(SERVICE_NAME_ATTRIBUTE.into(), "mine".into()))
        );
        assert!(!format!("{own:?}").contains("t0ken"));
        let theirs = resolve(&entry(""), &environment).unwrap().unwrap();
        assert_eq!(theirs.url, "http://elsewhere:4318/v1/traces");
        assert_eq!(theirs.headers[0].1, "Basic theirs");
        assert!(
            theirs
                .resource
                .contains(&(SERVICE_NAME_ATTRIBUTE.into(), "theirs".into()))
        );
        assert!(resolve(&entry("enabled = false"), &environment).is_none());
    }

    #[test]
    fn traces_variables_have_precedence() {
        let mut variables = vec![
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b/spans"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=x,team=a%2Cb,rubbish",
            ),
        ];
        let found = resolve(&entry(""), &environment(&variables))
            .unwrap()
            .unwrap();
        assert_eq!(found.url, "http://b/spans");
        let resource = [
            (SERVICE_NAME_ATTRIBUTE, "x"),
            ("team", "a,b"),
            ("service.version", "0.1.0"),
        ];
        let resource = resource.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found.resource[..2], resource[..2]);
        for off in [
            ("OTEL_SDK_DISABLED", "TRUE"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            variables.push(off);
            assert!(resolve(&entry(""), &environment(&variables)).is_none());
            variables.pop();
        }
        assert!(resolve(&entry(""), &environment(&[])).is_none());
    }

    #[test]
    fn errors_do_not_repeat_secrets() {
        for (text, variables, part) in [
            (
                "endpoint = \"ftp://me:s3cret@x\"",
                vec![],
                "telemetry.endpoint",
            ),
            ("endpoint = \"${NOPE}\"", vec![], "NOPE"),
            (
                "endpoint = \"http://x\"\nheaders = { A = \"${NOPE}\" }",
                vec![],
                "headers.A",
            ),
            (
                "",
                vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "s3cret")],
                "OTEL_EXPORTER_OTLP",
            ),
            (
                "",
                vec![
                    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:4317"),
                    ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                ],
                "http/protobuf",
            ),
        ] {
            let found = resolve(&entry(text), &environment(&variables)).unwrap();
            let (_, problem) = found.unwrap_err();
            assert!(
                problem.contains(part) && !problem.contains("s3cret"),
                "{problem}"
            );
        }
    }
}
