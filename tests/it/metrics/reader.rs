//! A strict reader of the Prometheus text exposition format.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
};

pub(super) struct Page {
    text: String,
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Page {
    /// Fails unless every family is declared once, before its samples, which are contiguous; every series occurs
    /// once; exactly the counters end in `_total`; and the buckets of a histogram are cumulative.
    #[track_caller]
    pub(super) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "{text}");
        let mut declared = HashSet::new();
        let mut seen = HashSet::new();
        let mut helped = String::new();
        let mut family = String::new();
        let mut kind = String::new();
        let mut samples = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(
                    !help.is_empty() && declared.insert(name.to_owned()),
                    "{line}"
                );
                name.clone_into(&mut helped);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, is) = rest.split_once(' ').unwrap();
                assert_eq!(name, helped, "{line}");
                assert!(["counter", "gauge", "histogram"].contains(&is), "{line}");
                assert_eq!(name.ends_with("_total"), is == "counter", "{line}");
                (family, kind) = (name.to_owned(), is.to_owned());
            } else {
                let (name, labels, value) = sample(line);
                let parts = ["_bucket", "_sum", "_count"];
                match kind.as_str() {
                    "histogram" => {
                        let part = name.strip_prefix(&family);
                        assert!(part.is_some_and(|part| parts.contains(&part)), "{line}");
                    }
                    _ => assert_eq!(name, family, "{line}"),
                }
                assert!(kind == "gauge" || value >= 0.0, "{line}");
                assert!(seen.insert(format!("{name}{labels:?}")), "twice: {line}");
                samples.push((name, labels, value));
            }
        }
        let page = Self {
            text: text.to_owned(),
            samples,
        };
        page.check_histograms();
        page
    }

    #[track_caller]
    fn check_histograms(&self) {
        let mut last: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (name, labels, value) in &self.samples {
            let (Some(family), Some(most)) = (name.strip_suffix("_bucket"), labels.get("le"))
            else {
                continue;
            };
            let mut others = labels.clone();
            others.remove("le");
            let most: f64 = most.parse().unwrap();
            let key = format!("{family}{others:?}");
            if let Some((before, count)) = last.insert(key, (most, *value)) {
                assert!(before < most && count <= *value, "{name} {labels:?}");
            }
            if most.is_infinite() {
                let others: Vec<_> = others
                    .iter()
                    .map(|(k, v)| (k.as_str(), v.as_str()))
                    .collect();
                assert_eq!(
                    self.value(&format!("{family}_count"), &others),
                    Some(*value),
                    "{name}"
                );
            }
        }
        assert!(last.values().all(|(most, _)| most.is_infinite()), "{self}");
    }

    pub(super) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let wanted: BTreeMap<String, String> = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let found = self
            .samples
            .iter()
            .find(|it| it.0 == name && it.1 == wanted);
        found.map(|(_, _, value)| *value)
    }

    /// The number of samples with this name.
    pub(super) fn series(&self, name: &str) -> usize {
        self.samples.iter().filter(|it| it.0 == name).count()
    }

    /// The labels of the only sample with this name.
    pub(super) fn labels(&self, name: &str) -> &BTreeMap<String, String> {
        &self.samples.iter().find(|it| it.0 == name).unwrap().1
    }
}

#[track_caller]
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (name, value) = match line.split_once('{') {
        Some((name, _)) => (name, &line[line.rfind('}').unwrap() + 1..]),
        None => line.split_once(' ').unwrap(),
    };
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    assert!(!name.is_empty() && name.chars().all(is_name), "{line}");
    let mut labels = BTreeMap::new();
    if let Some((_, rest)) = line.split_once('{') {
        let mut rest = &rest[..rest.rfind('}').unwrap()];
        while !rest.is_empty() {
            let (label, after) = rest.split_once("=\"").unwrap();
            assert!(label.chars().all(is_name), "{line}");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
    }
    (name.to_owned(), labels, value.trim().parse().unwrap())
}

/// A label value up to its closing quotation mark, and the text after it.
#[track_caller]
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    loop {
        match chars.next() {
            Some((end, '"')) => return (value, &text[end + 1..]),
            Some((_, '\\')) => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, c @ ('\\' | '"'))) => value.push(c),
                other => panic!("{other:?} in {text}"),
            },
            Some((_, c)) => value.push(c),
            None => panic!("no end: {text}"),
        }
    }
}
