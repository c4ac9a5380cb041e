//! Derives the names of functions: `group.operation`.
//!
//! Invariant: a name depends only on the operation, unless another operation has the same name. Then neither gets it,
//! because a name must never pass from one operation to another.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The number of names that a note lists.
const MAX_LISTED_NAMES: usize = 20;

/// The parts of an operation from which its name is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationNameParts<'a> {
    pub(super) verb: &'a str,
    pub(super) path: &'a str,
    /// The first tag.
    pub(super) tag: Option<&'a str>,
    pub(super) id: Option<&'a str>,
}

/// The names of all operations, in order, and notes for the user.
pub(super) fn names(operations: &[OperationNameParts<'_>]) -> (Vec<String>, Vec<String>) {
    let mut names: Vec<String> = operations.iter().map(OperationNameParts::name).collect();
    let mut wanted: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, name) in names.iter().enumerate() {
        wanted.entry(name).or_default().push(place);
    }
    let contested: Vec<(String, Vec<usize>)> = wanted
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| (name.to_owned(), places))
        .collect();
    let mut taken: BTreeSet<String> = names.iter().cloned().collect();
    // The last number of each name: thousands of operations may share a name.
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut said = Vec::new();
    for (name, mut places) in contested {
        places.sort_by_key(|place| (operations[*place].path, operations[*place].verb));
        let mut instead = Vec::new();
        for place in places {
            let own = operations[place].by_path();
            let number = numbers.entry(own.clone()).or_default();
            let mut free = std::iter::from_fn(|| {
                *number += 1;
                Some(match *number {
                    1 => own.clone(),
                    number => format!("{own}{number}"),
                })
            });
            let other = free.find(|name| !taken.contains(name)).unwrap_or_default();
            taken.insert(other.clone());
            instead.push(format!("`{other}`"));
            names[place] = other;
        }
        let more = instead.len().saturating_sub(MAX_LISTED_NAMES);
        instead.truncate(MAX_LISTED_NAMES);
        if more > 0 {
            instead.push(format!("and {more} more"));
        }
        said.push(format!(
            "several operations would be named `{name}`; they are {}",
            instead.join(", ")
        ));
    }
    (names, said)
}

impl OperationNameParts<'_> {
    fn name(&self) -> String {
        let operation = self.id.and_then(|id| match self.tag {
            Some(tag) => camel(without_group(id, tag)),
            None => camel(id),
        });
        match operation {
            Some(operation) => format!("{}.{operation}", self.group()),
            None => self.by_path(),
        }
    }

    fn group(&self) -> String {
        let of_tag = self.tag.and_then(camel);
        of_tag
            .or_else(|| camel(fixed(self.path).find(|segment| !is_version(segment))?))
            .unwrap_or_else(|| "root".into())
    }

    /// The name made from verb and path: `getPetsByPetId`.
    fn by_path(&self) -> String {
        let mut operation = self.verb.to_ascii_lowercase();
        let mut by = false;
        for segment in self.path.split('/').filter(|segment| !segment.is_empty()) {
            let parameter = segment.starts_with('{') && segment.ends_with('}');
            if parameter {
                operation.push_str(if by { "And" } else { "By" });
            }
            by = parameter;
            operation.push_str(&capital(&camel(segment).unwrap_or_default()));
        }
        format!("{}.{operation}", self.group())
    }
}

/// The segments of a path without parameters.
fn fixed(path: &str) -> impl Iterator<Item = &str> {
    let segments = path.split('/');
    segments.filter(|segment| !segment.is_empty() && !segment.contains('{'))
}

/// True if a segment is a prefix of all paths, such as `v1`, `v2.1` or `api`.
fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v').unwrap_or_default();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    segment == "api" || segment == "rest" || number.split('.').all(digits)
}

/// Removes the tag from an operation ID: `repos/list-for-org` of the tag `repos` becomes `list-for-org`. The tag must
/// be followed by a separator.
fn without_group<'a>(id: &'a str, tag: &str) -> &'a str {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let group = letters(tag);
    let ends = id
        .char_indices()
        .filter(|(_, letter)| !letter.is_ascii_alphanumeric());
    for (end, separator) in ends {
        if letters(&id[..end]) == group {
            let rest = &id[end + separator.len_utf8()..];
            // `_2` is not a useful name.
            let names_something = camel(rest).is_some_and(|name| !name.starts_with('_'));
            return if names_something { rest } else { id };
        }
    }
    id
}

/// Joins the letters and digits of a text into a camel case identifier. `None` if there are none.
pub(super) fn camel(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut name = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if name.is_empty() {
            name.push_str(&small(word));
        } else {
            name.push_str(&capital(word));
        }
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    (!name.is_empty()).then_some(name)
}

fn capital(word: &str) -> String {
    let mut word = word.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
}

/// Lowercases the leading capitals: `Get` becomes `get`, `ACLList` becomes `aclList`, `ACL` becomes `acl`.
fn small(word: &str) -> String {
    let capitals = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let followed = word[capitals..].starts_with(|c: char| c.is_ascii_lowercase());
    let lowered = match (capitals, followed) {
        (0 | 1, _) | (_, false) => capitals,
        (several, true) => several - 1,
    };
    word[..lowered].to_ascii_lowercase() + &word[lowered..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(verb: &str, path: &str, tag: Option<&str>, id: Option<&str>) -> String {
        let named = OperationNameParts {
            verb,
            path,
            tag,
            id,
        };
        names(&[named]).0.remove(0)
    }

    #[test]
    fn names_are_short_identifiers() {
        for (tag, id, expected) in [
            (
                Some("repos"),
                Some("repos/list-for-org"),
                "repos.listForOrg",
            ),
            (Some("pet"), Some("getPetById"), "pet.getPetById"),
            (
                Some("Pull Requests"),
                Some("pull-requests/list"),
                "pullRequests.list",
            ),
            (
                Some("Pull Requests"),
                Some("pull_requests_list"),
                "pullRequests.list",
            ),
            (Some("pets"), Some("pets"), "pets.pets"),
            (Some("pets"), Some("pets-2"), "pets.pets2"),
            (Some("petshop"), Some("pets_hop"), "petshop.petsHop"),
            (Some("acl"), Some("ACLList"), "acl.aclList"),
            (Some("a"), Some("GET"), "a.get"),
            (None, Some("GetCustomers"), "pets.getCustomers"),
            (None, None, "pets.getPetsByPetIdToysByToyAndSize"),
            (
                Some("Haustiere ü"),
                Some("漢字"),
                "haustiere.getPetsByPetIdToysByToyAndSize",
            ),
            (Some("漢字"), Some("list"), "pets.list"),
            (Some("2fa"), Some("2fa/on"), "_2fa.on"),
        ] {
            let found = match (tag, id) {
                (None, Some(id)) => name("get", "/v1/pets", None, Some(id)),
                _ => name("get", "/pets/{petId}/toys/{toy}/{size}", tag, id),
            };
            assert_eq!(found, expected, "{tag:?} {id:?}");
        }
        assert_eq!(name("get", "/{id}", None, None), "root.getById");
        assert_eq!(name("get", "/", None, None), "root.get");
    }

    #[test]
    fn operations_with_the_same_name_get_other_names() {
        let of = |path, verb| OperationNameParts {
            verb,
            path,
            tag: Some("a"),
            id: Some("list"),
        };
        let (names, said) = super::names(&[
            of("/x", "get"),
            of("/y", "get"),
            OperationNameParts {
                id: Some("other"),
                ..of("/z", "get")
            },
            of("/{x}", "get"),
            of("/{x-}", "get"),
        ]);
        assert_eq!(
            names,
            ["a.getX", "a.getY", "a.other", "a.getByX2", "a.getByX"]
                .map(std::borrow::ToOwned::to_owned)
                .to_vec()
        );
        assert!(said[0].contains("`a.list`"), "{said:?}");
    }
}
