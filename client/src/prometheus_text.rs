//! A parser of Prometheus' text exposition format.
//!
//! Invariant: a malformed line is an error and never skipped, because partial numbers would look complete.

/// A metric family: a name with its help, type and samples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricFamily {
    pub(crate) name: String,
    pub(crate) help: String,
    /// `counter`, `gauge`, `histogram`, `summary` or `untyped`.
    pub(crate) kind: String,
    pub(crate) samples: Vec<MetricSample>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricSample {
    /// The name of the family, perhaps with a suffix such as `_bucket`.
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

impl MetricSample {
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The input is not in the exposition format.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line} of the metrics cannot be parsed")]
pub(crate) struct MetricsParseError {
    line: usize,
}

pub(crate) fn parse_metrics(text: &str) -> Result<Vec<MetricFamily>, MetricsParseError> {
    let mut families: Vec<MetricFamily> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        parse_metrics_line(line, &mut families).ok_or(MetricsParseError { line: number + 1 })?;
    }
    Ok(families)
}

fn parse_metrics_line(line: &str, families: &mut Vec<MetricFamily>) -> Option<()> {
    if let Some(rest) = line.strip_prefix("# HELP ") {
        let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
        family_named(families, name).help = unescape_label(help)?;
    } else if let Some(rest) = line.strip_prefix("# TYPE ") {
        let (name, kind) = rest.split_once(' ')?;
        kind.clone_into(&mut family_named(families, name).kind);
    } else if !line.starts_with('#') && !line.trim().is_empty() {
        let sample = parse_sample(line)?;
        let of_last = families
            .last()
            .is_some_and(|family| belongs_to_family(&sample.name, family));
        if !of_last {
            family_named(families, &sample.name);
        }
        families.last_mut()?.samples.push(sample);
    }
    Some(())
}

/// The last family if it has this name, otherwise a new one.
fn family_named<'a>(families: &'a mut Vec<MetricFamily>, name: &str) -> &'a mut MetricFamily {
    if families.last().is_none_or(|last| last.name != name) {
        families.push(MetricFamily {
            name: name.to_owned(),
            help: String::new(),
            kind: "untyped".into(),
            samples: Vec::new(),
        });
    }
    let last = families.len() - 1;
    &mut families[last]
}

fn belongs_to_family(name: &str, family: &MetricFamily) -> bool {
    let Some(suffix) = name.strip_prefix(family.name.as_str()) else {
        return false;
    };
    let parts = ["_bucket", "_sum", "_count"];
    suffix.is_empty()
        || (["histogram", "summary"].contains(&family.kind.as_str()) && parts.contains(&suffix))
}

/// Parses `name{label="value",…} value`, perhaps followed by a timestamp.
fn parse_sample(line: &str) -> Option<MetricSample> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))?;
    let (name, mut rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, value, after) = parse_label(rest)?;
            labels.push((label, value));
            rest = match after.strip_prefix(',') {
                Some(after) => after,
                None if after.starts_with('}') => after,
                None => return None,
            };
        }
        rest = &rest[1..];
    }
    let mut words = rest.split_ascii_whitespace();
    let value = words.next()?.parse().ok()?;
    let is_over = words.next().is_none_or(|time| time.parse::<i64>().is_ok());
    (is_over && words.next().is_none()).then(|| MetricSample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// Parses a label. Returns its name, its value and the rest of the line.
fn parse_label(text: &str) -> Option<(String, String, &str)> {
    let (name, rest) = text.split_once("=\"")?;
    let mut escaped = false;
    let end = rest.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some((
        name.trim().to_owned(),
        unescape_label(&rest[..end])?,
        &rest[end + 1..],
    ))
}

fn unescape_label(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            '\\' => match rest.next()? {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            },
            c => c,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_hold_their_samples() {
        let text = "# HELP calls_total How many.\n# TYPE calls_total counter\n\
                    calls_total{server=\"a\",tool=\"x \\\"\\\\\\n,}\"} 3\ncalls_total{server=\"b\"} 4 1700000000000\n\
                    # TYPE took_seconds histogram\ntook_seconds_bucket{le=\"0.1\"} 1\n\
                    took_seconds_bucket{le=\"+Inf\"} 2\ntook_seconds_sum 1.5e-3\ntook_seconds_count 2\n\
                    bare 1\n";
        let families = parse_metrics(text).unwrap();
        let names: Vec<_> = families
            .iter()
            .map(|it| (it.name.as_str(), it.samples.len()))
            .collect();
        assert_eq!(
            names,
            [("calls_total", 2), ("took_seconds", 4), ("bare", 1)]
        );
        let [calls, took, bare] = &families[..] else {
            panic!("{families:?}");
        };
        assert_eq!(
            (calls.kind.as_str(), calls.help.as_str()),
            ("counter", "How many.")
        );
        assert_eq!(calls.samples[0].label("tool"), Some("x \"\\\n,}"));
        assert_eq!(
            (calls.samples[1].value, took.samples[2].value),
            (4.0, 0.0015)
        );
        assert_eq!(
            (took.kind.as_str(), bare.kind.as_str()),
            ("histogram", "untyped")
        );
    }

    #[test]
    fn malformed_lines_are_errors() {
        for (text, line) in [
            ("a 1\nb\n", 2),
            ("a{b=\"c} 1\n", 1),
            ("a{b=\"c\" d=\"e\"} 1\n", 1),
            ("a{b=\"\\q\"} 1\n", 1),
            ("a one\n", 1),
            ("a 1 2 3\n", 1),
            ("1a 1\n", 1),
        ] {
            assert_eq!(
                parse_metrics(text),
                Err(MetricsParseError { line }),
                "{text}"
            );
        }
        assert_eq!(parse_metrics("# a comment\n\n"), Ok(Vec::new()));
        assert!(
            parse_metrics("a +Inf\n").unwrap()[0].samples[0]
                .value
                .is_infinite()
        );
    }
}
