//! Metrics: as Prometheus' text, or as JSON.

use std::process::ExitCode;

use super::terminal::println;
use serde_json::{Map, Value, json};

use super::{output_exit_code, print_data, print_document};
use crate::prometheus_text::{MetricFamily, MetricSample};

/// Prints Prometheus' text unchanged.
pub(crate) fn metrics(text: &str) -> ExitCode {
    output_exit_code(print_data(text))
}

/// Prints metrics in the format of `prom2json`, but with numbers as numbers.
pub(crate) fn metrics_document(families: &[MetricFamily]) -> ExitCode {
    let families: Vec<Value> = families.iter().map(family_json).collect();
    print_document(&json!({ "metrics": families }));
    ExitCode::SUCCESS
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

fn family_json(family: &MetricFamily) -> Value {
    let metrics: Vec<Value> = match family.kind.as_str() {
        "histogram" => histograms_json(&family.samples),
        _ => family
            .samples
            .iter()
            .map(|sample| json!({ "labels": labels(sample), "value": json_number(sample.value) }))
            .collect(),
    };
    json!({
        "name": family.name,
        "help": family.help,
        "type": family.kind,
        "metrics": metrics,
    })
}

/// Groups the samples of a family into histograms. Samples of one histogram are adjacent.
fn histograms_json(samples: &[MetricSample]) -> Vec<Value> {
    let mut histograms: Vec<(Value, Map<String, Value>)> = Vec::new();
    for sample in samples {
        let labels = labels(sample);
        if histograms.last().is_none_or(|(last, _)| *last != labels) {
            histograms.push((labels, Map::new()));
        }
        let Some((_, histogram)) = histograms.last_mut() else {
            continue;
        };
        let value = json_number(sample.value);
        let part = sample.name.rsplit('_').next();
        match (part, sample.label("le")) {
            (Some("bucket"), Some(most)) => {
                let buckets = histogram.entry("buckets").or_insert_with(|| json!({}));
                buckets[most] = value;
            }
            (Some(part), _) => drop(histogram.insert(part.to_owned(), value)),
            (None, _) => {}
        }
    }
    let entries = histograms.into_iter().map(|(labels, mut histogram)| {
        histogram.insert("labels".into(), labels);
        Value::Object(histogram)
    });
    entries.collect()
}

fn labels(sample: &MetricSample) -> Value {
    let labels = sample.labels.iter().filter(|(name, _)| name != "le");
    labels
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// A number as JSON, without a fraction if it is an integer.
fn json_number(value: f64) -> Value {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < MAX_EXACT_INTEGER {
        #[expect(clippy::cast_possible_truncation, reason = "the conversion is exact")]
        let integer = value as i64;
        json!(integer)
    } else {
        json!(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prometheus_text;

    #[test]
    fn histogram_is_one_object_for_each_set_of_labels() {
        let text = "# HELP t_seconds T.\n# TYPE t_seconds histogram\nt_seconds_sum{s=\"a\"} 1.5\n\
                    t_seconds_count{s=\"a\"} 2\nt_seconds_bucket{s=\"a\",le=\"0.1\"} 1\n\
                    t_seconds_bucket{s=\"a\",le=\"+Inf\"} 2\nt_seconds_sum{s=\"b\"} 0\n\
                    t_seconds_count{s=\"b\"} 0\n";
        let families = prometheus_text::parse_metrics(text).unwrap();
        assert_eq!(
            family_json(&families[0]),
            json!({ "name": "t_seconds", "help": "T.", "type": "histogram", "metrics": [
                { "labels": { "s": "a" }, "sum": 1.5, "count": 2, "buckets": { "0.1": 1, "+Inf": 2 } },
                { "labels": { "s": "b" }, "sum": 0, "count": 0 },
            ] })
        );
    }
}
