//! "Did you mean": the nearest names to one that does not exist.
//!
//! Invariant: the work is bounded, whoever made up the name: its length times that of each known one
//! is what a comparison costs, in time and in memory.

/// A longer name, in bytes, is near to nothing.
const MOST: usize = 200;

/// The nearest of `known`, if any is near enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(name, known, 1).into_iter().next()
}

/// Up to `most` names, nearest first.
pub(crate) fn nearest_few<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    if name.len() > MOST {
        return Vec::new();
    }
    let wanted = fold(name);
    let mut scored: Vec<(f64, &str)> = known
        .filter(|candidate| candidate.len() <= MOST)
        .map(|candidate| (score(&wanted, &fold(candidate)), candidate))
        .filter(|(score, _)| *score >= 0.6)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.truncate(most);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Case and separators are what people get wrong most.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric() || *c == '.')
        .flat_map(char::to_lowercase)
        .collect()
}

fn score(wanted: &str, candidate: &str) -> f64 {
    if wanted == candidate {
        return 1.0;
    }
    let distance = strsim::normalized_damerau_levenshtein(wanted, candidate);
    // One inside the other: `read` for `read_file`.
    let part = if wanted.len() >= 3 && (candidate.contains(wanted) || wanted.contains(candidate)) {
        0.7
    } else {
        0.0
    };
    distance.max(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["read_file", "write_file", "list_directory"];
        let near = |name| nearest(name, known.into_iter());
        assert_eq!(near("readFile"), Some("read_file"));
        assert_eq!(near("raed_file"), Some("read_file"));
        assert_eq!(near("directory"), Some("list_directory"));
        assert_eq!(near("frobnicate"), None);
        // It would take a minute and gigabytes to find out how far it is.
        assert_eq!(near(&"read_file".repeat(10_000_000)), None);
    }
}
