//! Resolves references in the original document, and JSON pointers.
//!
//! Invariant: nothing is ever fetched, and a reference has the target that the document's own `$id`s and anchors give
//! it, or none.

use std::{
    borrow::Cow,
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};
use url::Url;

use super::{
    UNRESOLVED_KEYWORD,
    keywords::{KeywordKind, kind_of},
    notes::{Deviation, Notes},
};

/// Characters of a JSON pointer that are escaped in a reference.
const OUTSIDE_FRAGMENTS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'$')
    .remove(b'~')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.');
/// How deep a document is searched for identifiers.
const MAX_SEARCHED_DEPTH: usize = 65;
/// The maximum number of parts of a document with a URL. Further ones are read as if they had none.
const MAX_RESOURCES: usize = 256;
/// The identifier of a document that has none.
const ANONYMOUS_DOCUMENT: &str = "http://document.invalid/";
/// Keywords whose schemas apply to the same value.
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE_SCHEMAS: [&str; 3] = ["if", "then", "else"];

/// Returns true for keywords that combine several schemas.
pub(super) fn is_part(keyword: &str) -> bool {
    is_in_place(keyword)
        || matches!(
            keyword,
            "$ref" | "$dynamicRef" | "$recursiveRef" | "not" | "dependencies"
        )
}

/// Returns true for keywords whose schemas describe the same value as the keywords beside them.
pub(super) fn is_in_place(keyword: &str) -> bool {
    IN_PLACE_LISTS.contains(&keyword)
        || IN_PLACE_SCHEMAS.contains(&keyword)
        || keyword == "dependentSchemas"
}

/// The target of a reference.
pub(super) enum ReferenceTarget<'a> {
    Root,
    Schema { pointer: String, target: &'a Value },
    None(Deviation),
}

/// A schema as the server wrote it.
pub(super) struct SchemaDocument<'a> {
    root: &'a Value,
    identifiers: OnceCell<Identifiers>,
}

/// The parts of a document that have a URL or a name.
#[derive(Default)]
struct Identifiers {
    /// The pointers of the parts with a URL, the root first.
    resources: Vec<(String, Url)>,
    /// Pointers by the URL of their resource and their name.
    anchors: HashMap<(String, String), String>,
    /// The pointers of each dynamic anchor.
    dynamic_anchors: HashMap<String, Vec<String>>,
    recursive_anchors: Vec<String>,
    refs_have_siblings: bool,
}

impl<'a> SchemaDocument<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self {
            root,
            identifiers: OnceCell::new(),
        }
    }

    /// Up to draft 7, a reference replaces its siblings.
    pub(super) fn refs_have_siblings(&self) -> bool {
        let draft = self.root.get("$schema").and_then(Value::as_str);
        !draft.is_some_and(|draft| {
            ["draft-03", "draft-04", "draft-06", "draft-07"]
                .iter()
                .any(|old| draft.contains(old))
        })
    }

    pub(super) fn resolve(
        &self,
        keyword: &str,
        reference: &str,
        pointer: &str,
    ) -> ReferenceTarget<'a> {
        let found = match keyword {
            "$recursiveRef" => self.recursive_target(pointer),
            "$dynamicRef" => self.dynamic_target(reference, pointer),
            _ => self.static_target(reference, pointer),
        };
        match found {
            Ok(pointer) if pointer.is_empty() => ReferenceTarget::Root,
            Ok(pointer) => match self.root.pointer(&pointer) {
                Some(target) => ReferenceTarget::Schema { pointer, target },
                None => self.renamed_definition(reference, &pointer),
            },
            Err(deviation) => ReferenceTarget::None(deviation),
        }
    }

    /// Converters move definitions between `definitions`, `$defs` and `components/schemas` and forget references.
    fn renamed_definition(&self, reference: &str, pointer: &str) -> ReferenceTarget<'a> {
        let name = pointer.rsplit('/').next().unwrap_or_default();
        ["/$defs", "/definitions", "/components/schemas"]
            .into_iter()
            .find_map(|container| {
                let pointer = format!("{container}/{name}");
                let target = self.root.pointer(&pointer)?;
                Some(ReferenceTarget::Schema { pointer, target })
            })
            .unwrap_or_else(|| {
                ReferenceTarget::None(Deviation::DanglingReference {
                    reference: reference.to_owned(),
                })
            })
    }

    /// The pointer to the target.
    fn static_target(&self, reference: &str, pointer: &str) -> Result<String, Deviation> {
        let identifiers = self.identifiers();
        let (resource, base) = identifiers.resource_of(pointer);
        let (url, fragment) = if let Some(fragment) = reference.strip_prefix('#') {
            (base.clone(), fragment.to_owned())
        } else {
            let foreign = || Deviation::ForeignReference {
                reference: reference.to_owned(),
            };
            let mut url = base.join(reference).map_err(|_| foreign())?;
            let fragment = url.fragment().unwrap_or_default().to_owned();
            url.set_fragment(None);
            (url, fragment)
        };
        let resource = if reference.starts_with('#') {
            resource
        } else {
            identifiers
                .resource_at(&url)
                .ok_or_else(|| Deviation::ForeignReference {
                    reference: reference.to_owned(),
                })?
        };
        let decoded = percent_decode_str(&fragment).decode_utf8();
        let fragment = decoded.unwrap_or(Cow::Borrowed(fragment.as_str()));
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok(format!("{resource}{fragment}"));
        }
        let anchor = (url.as_str().to_owned(), fragment.into_owned());
        identifiers
            .anchors
            .get(&anchor)
            .cloned()
            .ok_or_else(|| Deviation::DanglingReference {
                reference: reference.to_owned(),
            })
    }

    /// A dynamic anchor that occurs once has the same target on every path.
    fn dynamic_target(&self, reference: &str, pointer: &str) -> Result<String, Deviation> {
        let name = reference.rsplit('#').next().unwrap_or_default();
        match self.identifiers().dynamic_anchors.get(name) {
            Some(pointers) if pointers.len() > 1 => Err(Deviation::UnsettledReference {
                reference: reference.to_owned(),
            }),
            _ => self.static_target(reference, pointer),
        }
    }

    fn recursive_target(&self, pointer: &str) -> Result<String, Deviation> {
        let identifiers = self.identifiers();
        let (resource, _) = identifiers.resource_of(pointer);
        if identifiers.recursive_anchors.len() > 1 {
            return Err(Deviation::UnsettledReference {
                reference: "#".to_owned(),
            });
        }
        Ok(resource.to_owned())
    }

    fn identifiers(&self) -> &Identifiers {
        self.identifiers.get_or_init(|| {
            let mut found = Identifiers {
                refs_have_siblings: self.refs_have_siblings(),
                ..Identifiers::default()
            };
            let base = Url::parse(ANONYMOUS_DOCUMENT).expect("a constant URL is valid");
            found.resources.push((String::new(), base.clone()));
            found.search(self.root, "", &base, 0);
            found
        })
    }
}

impl Identifiers {
    fn search(&mut self, schema: &Value, pointer: &str, base: &Url, depth: usize) {
        let Some(members) = schema.as_object().filter(|_| depth < MAX_SEARCHED_DEPTH) else {
            return;
        };
        let text = |keyword: &str| members.get(keyword).and_then(Value::as_str);
        // Up to draft 7, a reference replaces its siblings.
        let has_id = self.refs_have_siblings || text("$ref").is_none();
        let id = text("$id").or_else(|| text("id").filter(|id| id.contains(['/', '#', ':'])));
        let mut base = base.clone();
        match id.filter(|_| has_id) {
            // Up to draft 7, an anchor.
            Some(id) if id.len() > 1 && id.starts_with('#') => {
                self.anchor(&base, &id[1..], pointer);
            }
            Some(id) => {
                if self.resources.len() < MAX_RESOURCES
                    && let Ok(mut url) = base.join(id)
                {
                    url.set_fragment(None);
                    if pointer.is_empty() {
                        self.resources.clear();
                    }
                    self.resources.push((pointer.to_owned(), url.clone()));
                    base = url;
                }
            }
            None => {}
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = text(keyword) {
                self.anchor(&base, name, pointer);
            }
        }
        if let Some(name) = text("$dynamicAnchor") {
            let places = self.dynamic_anchors.entry(name.to_owned()).or_default();
            places.push(pointer.to_owned());
        }
        if members.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
            self.recursive_anchors.push(pointer.to_owned());
        }
        each_subschema(members, pointer, &mut |schema, pointer| {
            self.search(schema, &pointer, &base, depth + 1);
        });
    }

    fn anchor(&mut self, base: &Url, name: &str, pointer: &str) {
        let anchor = (base.as_str().to_owned(), name.to_owned());
        self.anchors
            .entry(anchor)
            .or_insert_with(|| pointer.to_owned());
    }

    /// The innermost resource that contains the pointer.
    fn resource_of(&self, pointer: &str) -> (&str, &Url) {
        let contains = |resource: &str| {
            let rest = pointer.strip_prefix(resource);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let innermost = self
            .resources
            .iter()
            .filter(|(resource, _)| contains(resource))
            .max_by_key(|(resource, _)| resource.len());
        let (resource, url) = innermost.unwrap_or(&self.resources[0]);
        (resource, url)
    }

    fn resource_at(&self, wanted: &Url) -> Option<&str> {
        let mut resources = self.resources.iter();
        let found = resources.find(|(_, url)| url == wanted);
        found.map(|(pointer, _)| pointer.as_str())
    }
}

/// Calls `visit` for each schema directly inside, with its pointer.
pub(super) fn each_subschema<'a>(
    members: &'a Map<String, Value>,
    pointer: &str,
    visit: &mut dyn FnMut(&'a Value, String),
) {
    for (keyword, value) in members {
        let is_definitions = matches!(keyword.as_str(), "$defs" | "definitions");
        let kind = if is_definitions {
            Some(KeywordKind::SchemaMap)
        } else {
            kind_of(keyword)
        };
        match (kind, value) {
            (Some(KeywordKind::Schema | KeywordKind::AdditionalItems), _)
            | (Some(KeywordKind::Items | KeywordKind::Schemas), Value::Object(_)) => {
                visit(value, join(pointer, keyword));
            }
            (Some(KeywordKind::Items | KeywordKind::Schemas), Value::Array(list)) => {
                let at = join(pointer, keyword);
                for (index, schema) in list.iter().enumerate() {
                    visit(schema, join_index(&at, index));
                }
            }
            (Some(KeywordKind::SchemaMap | KeywordKind::Dependencies), Value::Object(map)) => {
                let at = join(pointer, keyword);
                for (name, schema) in map {
                    visit(schema, join(&at, name));
                }
            }
            _ => {}
        }
    }
}

/// Drops the definitions that are not reachable from the root.
pub(super) fn drop_unused_definitions(root: &mut Value) {
    let definitions = root.get("$defs").and_then(Value::as_object);
    let mut used: HashSet<String> = HashSet::new();
    let mut pending = vec![&*root];
    while let Some(schema) = pending.pop() {
        let Some(members) = schema.as_object() else {
            continue;
        };
        let reference = members.get("$ref").and_then(Value::as_str);
        if let Some(name) = reference.and_then(definition_of)
            && used.insert(name.to_string())
        {
            pending.extend(definitions.and_then(|all| all.get(&*name)));
        }
        each_subschema(members, "", &mut |schema, pointer| {
            if !pointer.starts_with("/$defs/") {
                pending.push(schema);
            }
        });
    }
    let Some(members) = root.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(definitions)) = members.get_mut("$defs") {
        definitions.retain(|name, _| used.contains(name));
        if definitions.is_empty() {
            members.shift_remove("$defs");
        }
    }
}

/// Leaves out references that lead back to themselves without a step into the value: they would never end.
pub(super) fn break_cycles(root: &mut Value, notes: &mut Notes) {
    for pointer in endless_references(root) {
        let Some(Value::Object(members)) = root.pointer_mut(&pointer) else {
            continue;
        };
        let reference = members.shift_remove("$ref");
        let reference = reference.as_ref().and_then(Value::as_str);
        let deviation = Deviation::UnsettledReference {
            reference: reference.unwrap_or_default().to_owned(),
        };
        let unresolved = Value::String(deviation.to_string());
        members.insert(UNRESOLVED_KEYWORD.to_owned(), unresolved);
        notes.lose(&pointer, deviation, members);
    }
}

/// The pointers of the schemas whose references close a cycle.
fn endless_references(root: &Value) -> Vec<String> {
    let definitions = root.get("$defs").and_then(Value::as_object);
    let mut nodes: Vec<(&Value, String)> = vec![(root, String::new())];
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (name, schema) in definitions.into_iter().flatten() {
        numbers.insert(name, nodes.len());
        nodes.push((schema, join("/$defs", name)));
    }
    let number_of = |reference: &str| match reference {
        "#" => Some(0),
        other => numbers.get(definition_of(other)?.as_ref()).copied(),
    };
    let edges: Vec<Vec<(String, usize)>> = nodes
        .iter()
        .map(|(schema, pointer)| {
            let mut edges = Vec::new();
            each_reference_in_place(schema, pointer, &mut |pointer, reference| {
                edges.extend(number_of(reference).map(|target| (pointer, target)));
            });
            edges
        })
        .collect();
    let mut endless = Vec::new();
    let mut is_open = vec![false; nodes.len()];
    let mut is_done = vec![false; nodes.len()];
    for start in 0..nodes.len() {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if !is_done[start] {
            is_open[start] = true;
            path.push((start, 0));
        }
        while let Some((node, next)) = path.last_mut() {
            let Some((pointer, target)) = edges[*node].get(*next) else {
                is_open[*node] = false;
                is_done[*node] = true;
                path.pop();
                continue;
            };
            *next += 1;
            if is_open[*target] {
                endless.push(pointer.clone());
            } else if !is_done[*target] {
                is_open[*target] = true;
                path.push((*target, 0));
            }
        }
    }
    endless
}

/// Calls `visit` for each reference that applies to the value itself, with the pointer of its schema.
fn each_reference_in_place(schema: &Value, pointer: &str, visit: &mut dyn FnMut(String, &str)) {
    let Some(members) = schema.as_object() else {
        return;
    };
    if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
        visit(pointer.to_owned(), reference);
    }
    each_subschema(members, pointer, &mut |part, at| {
        let keyword = at[pointer.len()..].split('/').nth(1).unwrap_or_default();
        if keyword == "not" || is_in_place(keyword) {
            each_reference_in_place(part, &at, visit);
        }
    });
}

/// Calls `visit` for each schema directly inside that describes the value itself, with its keyword.
pub(super) fn each_schema_in_place<'a>(
    members: &'a Map<String, Value>,
    visit: &mut dyn FnMut(&'static str, &'a Value),
) {
    for keyword in IN_PLACE_LISTS {
        let list = members.get(keyword).and_then(Value::as_array);
        for part in list.into_iter().flatten() {
            visit(keyword, part);
        }
    }
    for keyword in IN_PLACE_SCHEMAS {
        if let Some(part) = members.get(keyword) {
            visit(keyword, part);
        }
    }
    let dependent = members.get("dependentSchemas").and_then(Value::as_object);
    for (_, part) in dependent.into_iter().flatten() {
        visit("dependentSchemas", part);
    }
}

pub(super) fn to_definition(name: &str) -> String {
    let pointer = join("/$defs", name);
    format!("#{}", utf8_percent_encode(&pointer, OUTSIDE_FRAGMENTS))
}

/// The name in a reference of a normal form.
pub(super) fn definition_of(reference: &str) -> Option<Cow<'_, str>> {
    let name = reference.strip_prefix("#/$defs/")?;
    if !name.contains(['%', '~']) {
        return Some(Cow::Borrowed(name));
    }
    let decoded = percent_decode_str(name).decode_utf8().ok()?;
    Some(Cow::Owned(unescape(&decoded).into_owned()))
}

pub(super) fn join(pointer: &str, segment: &str) -> String {
    let escaped = if segment.contains(['~', '/']) {
        Cow::Owned(segment.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(segment)
    };
    format!("{pointer}/{escaped}")
}

pub(super) fn join_index(pointer: &str, index: usize) -> String {
    format!("{pointer}/{index}")
}

pub(super) fn last_segment(pointer: &str) -> String {
    unescape(pointer.rsplit('/').next().unwrap_or_default()).into_owned()
}

/// A pointer as people write it: `properties.ttl`.
pub(super) fn dotted(pointer: &str) -> String {
    let segments = pointer.split('/').skip(1).map(unescape);
    segments.collect::<Vec<_>>().join(".")
}

fn unescape(segment: &str) -> Cow<'_, str> {
    if segment.contains('~') {
        Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(segment)
    }
}
