//! "Did you mean": finds names similar to a missing name.
//!
//! Invariant: the work is bounded for any names. A comparison costs time and memory proportional to the product of both
//! lengths.

/// Longer names have no suggestions.
const MAX_NAME_BYTES: usize = 200;
/// The budget of all comparisons, as products of both lengths. Beyond it, names are only compared by containment.
const MAX_COMPARED_LETTERS: usize = 500_000;
/// The minimum similarity of a suggestion, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;

/// The most similar name in `known`, if any is similar enough.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(name, known, 1).into_iter().next()
}

/// The end of an error about a name: the most similar name. Empty if none is similar enough.
pub fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(name, known);
    near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"))
}

/// Up to `most` similar names, the most similar first.
pub fn nearest_few<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    if name.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let wanted = fold(name);
    let mut left = MAX_COMPARED_LETTERS;
    let mut scored: Vec<(f64, &str)> = known
        .filter(|candidate| candidate.len() <= MAX_NAME_BYTES)
        .map(|candidate| (score(&wanted, &fold(candidate), &mut left), candidate))
        .filter(|(score, _)| *score >= MIN_SIMILARITY)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.truncate(most);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Removes case and separators, the most frequent differences.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric() || *c == '.')
        .flat_map(char::to_lowercase)
        .collect()
}

fn score(wanted: &str, candidate: &str, left: &mut usize) -> f64 {
    if wanted == candidate {
        return 1.0;
    }
    let distance = distance(wanted, candidate, left).unwrap_or(0.0);
    // One contains the other: `read` for `read_file`.
    let part = if wanted.len() >= 3 && (candidate.contains(wanted) || wanted.contains(candidate)) {
        0.7
    } else {
        0.0
    };
    distance.max(part)
}

/// The normalized similarity. `None` if the lengths differ too much, or the budget is used up.
fn distance(wanted: &str, candidate: &str, left: &mut usize) -> Option<f64> {
    let one = wanted.chars().count();
    let other = candidate.chars().count();
    let short = one.min(other);
    let long = one.max(other);
    if (short as f64) < MIN_SIMILARITY * long as f64 {
        return None;
    }
    *left = left.checked_sub(short * long)?;
    Some(strsim::normalized_damerau_levenshtein(wanted, candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_bounded() {
        let known: Vec<String> = (0..10_000)
            .map(|n| format!("{n:05}{}", "ab".repeat(97)))
            .collect();
        let names = || known.iter().map(String::as_str);
        let mut left = MAX_COMPARED_LETTERS;
        let wanted = "ba".repeat(99);
        let compared = names().filter(|name| distance(&wanted, name, &mut left).is_some());
        assert!((1..20).contains(&compared.count()));
        // Containment is checked even without a budget.
        assert_eq!(nearest("09999ab", names()), Some(&*known[9_999]));
    }

    #[test]
    fn similar_names_are_found_and_others_are_not() {
        let known = ["read_file", "write_file", "list_directory"];
        let near = |name| nearest(name, known.into_iter());
        assert_eq!(near("readFile"), Some("read_file"));
        assert_eq!(near("raed_file"), Some("read_file"));
        assert_eq!(near("directory"), Some("list_directory"));
        assert_eq!(near("frobnicate"), None);
        // Comparing this would take a minute and gigabytes.
        assert_eq!(near(&"read_file".repeat(10_000_000)), None);
    }
}
