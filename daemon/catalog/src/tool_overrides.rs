//! Applies the user's overrides to a server's tools: names, descriptions, annotations, and default and fixed arguments.
//!
//! This is the one place where an override takes effect: every reader gets a [`Tool`](super::Tool) that has it already,
//! and every call passes [`Tool::complete_arguments`].
//!
//! Invariants:
//!
//! - Pins and remembered lists hold the server's own definition. Overrides are applied on top.
//! - A tool with an invalid override is not offered.
//! - A fixed argument is sent as the user wrote it, and calls that pass it are refused.

use std::{collections::HashSet, sync::Arc};

use mux_settings::{ToolOverride, ToolOverrides};
use mux_text::{did_you_mean::suggestion, digest::Digest, loose_name::fold};
use mux_typegen::{
    names::spell,
    normal_form::{JsonTypes, SchemaView},
};
use mux_wire::Fault;
use serde_json::{Map, Value, json};

use super::{SchemaText, Tool, ToolDescription, argument_check::declared_names};

/// An overridden tool as its server knows it, with the arguments that its calls are given.
#[derive(Debug)]
pub struct OverriddenTool {
    /// The name by which the server knows the tool.
    pub(super) server_name: String,
    /// The input schema of the server, as JSON text: the schema of the arguments that are sent.
    pub(super) input_schema: String,
    defaults: Map<String, Value>,
    fixed: Map<String, Value>,
    /// The arguments that callers see.
    offered: HashSet<String>,
}

impl OverriddenTool {
    pub(super) fn add_to(&self, digest: Digest) -> Digest {
        let values = json!([self.defaults, self.fixed]).to_string();
        digest.text(&self.server_name).text(&values)
    }

    /// Names the override and the arguments that it gives, for errors about them.
    pub(super) fn note(&self, server: &str) -> Option<String> {
        let names = self.fixed.keys().chain(self.defaults.keys());
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| {
            format!(
                "the override of {server}.{} gives {}",
                self.server_name,
                names.join(", ")
            )
        })
    }
}

impl Tool {
    /// The name by which its server knows it.
    pub fn server_name(&self) -> &str {
        match &self.overridden {
            Some(overridden) => &overridden.server_name,
            None => &self.name,
        }
    }

    /// True if its override has arguments that callers neither see nor give.
    pub fn has_fixed_arguments(&self) -> bool {
        let overridden = self.overridden.as_ref();
        overridden.is_some_and(|overridden| !overridden.fixed.is_empty())
    }

    /// The arguments that are sent: the caller's, and those of an override.
    pub fn complete_arguments(
        &self,
        mut given: Map<String, Value>,
    ) -> Result<Map<String, Value>, Fault> {
        let Some(overridden) = &self.overridden else {
            return Ok(given);
        };
        let names_fixed = |given: &str| {
            let mut fixed = overridden.fixed.keys();
            fixed.any(|fixed| fixed == given || fold(fixed) == fold(given))
        };
        let refused = given
            .keys()
            .find(|name| names_fixed(name) && !overridden.offered.contains(*name));
        if let Some(name) = refused {
            return Err(self.refuse(&[format!(
                "{name:?} is fixed by the override of {}.{}: leave it out",
                self.server, overridden.server_name
            )]));
        }
        for (name, value) in &overridden.defaults {
            given.entry(name).or_insert_with(|| value.clone());
        }
        let fixed = overridden.fixed.iter();
        given.extend(fixed.map(|(name, value)| (name.clone(), value.clone())));
        Ok(given)
    }
}

/// An override that cannot be applied to the tools that a server lists.
#[derive(Debug, PartialEq)]
pub struct OverrideMistake {
    /// The name of its tool in the configuration.
    pub written: String,
    /// The name of the tool of the server, if it lists one.
    tool: Option<String>,
    /// Set if the error is known even without the server's list.
    pub is_of_entry: bool,
    problem: String,
}

impl OverrideMistake {
    /// The error and, if the server has the tool, its consequence.
    pub fn message(&self) -> String {
        match self.tool {
            Some(_) => format!(
                "{}; the tool is not offered until this is fixed",
                self.problem
            ),
            None => self.problem.clone(),
        }
    }

    /// A warning for the user.
    pub(super) fn warning(&self, server: &str) -> String {
        let tool = self.tool.as_ref().unwrap_or(&self.written);
        format!("the override of {server}.{tool}: {}", self.message())
    }
}

/// The tools with their overrides, and the overrides that could not be applied.
pub(super) fn apply(
    tools: Vec<ToolDescription>,
    overrides: &ToolOverrides,
) -> (Vec<ToolDescription>, Vec<OverrideMistake>) {
    if overrides.is_empty() {
        return (tools, Vec::new());
    }
    let mut mistakes = Vec::new();
    let mut meant = Vec::new();
    for (written, read) in overrides.iter() {
        let exact = tools.iter().position(|tool| tool.name == written);
        let spelled = || {
            tools
                .iter()
                .position(|tool| spell(&tool.name) == spell(written))
        };
        if let Some(index) = exact.or_else(spelled) {
            meant.push((index, written, read));
        } else {
            let names = tools.iter().map(|tool| tool.name.as_str());
            let suggestion = suggestion(written, names);
            mistakes.push(OverrideMistake {
                written: written.to_owned(),
                tool: None,
                is_of_entry: false,
                problem: format!("the server lists no such tool{suggestion}"),
            });
        }
    }
    let names: Vec<String> = tools
        .iter()
        .map(|tool| spell(&tool.name).into_owned())
        .collect();
    let renamed: HashSet<usize> = meant
        .iter()
        .filter(|(_, _, read)| read.is_ok_and(|read| read.name.is_some()))
        .map(|(index, _, _)| *index)
        .collect();
    let mut tools: Vec<Option<ToolDescription>> = tools.into_iter().map(Some).collect();
    for (index, written, read) in meant {
        // A second override of the tool is a separate error.
        let Some(tool) = tools[index].take() else {
            continue;
        };
        let own = tool.name.clone();
        let taken = |name: &str| {
            let mut others = names.iter().enumerate();
            others.any(|(other, its)| {
                other != index && !renamed.contains(&other) && *its == spell(name)
            })
        };
        let applied = read.map_err(str::to_owned).and_then(|read| {
            match read.name.as_deref().filter(|name| taken(name)) {
                Some(name) => Err(format!(
                    "the server has another tool that is called {name:?}: choose another name"
                )),
                None => overridden(tool, read),
            }
        });
        match applied {
            Ok(tool) => tools[index] = Some(tool),
            Err(problem) => mistakes.push(OverrideMistake {
                written: written.to_owned(),
                tool: Some(own),
                is_of_entry: read.is_err(),
                problem,
            }),
        }
    }
    (tools.into_iter().flatten().collect(), mistakes)
}

/// The tool with its override, or the reason it cannot be applied.
fn overridden(mut tool: ToolDescription, read: &ToolOverride) -> Result<ToolDescription, String> {
    let mut schema = tool.input_schema.parse();
    for (key, values) in [("defaults", &read.defaults), ("fixed", &read.fixed)] {
        for (name, value) in values {
            check_value(&schema, name, value)
                .map_err(|mistake| format!("`{key}.{name}` {mistake}"))?;
        }
    }
    let server_schema = tool.input_schema.as_str().to_owned();
    if schema.get("$ref").is_some() {
        let view = SchemaView::new(&schema);
        schema = Value::Object(view.flattened(view.root()));
    }
    hide_arguments(&mut schema, &read.fixed);
    make_optional(&mut schema, &read.defaults);
    tool.input_schema = SchemaText::from(&schema);
    let offered = schema.get("properties").and_then(Value::as_object);
    let own = OverriddenTool {
        server_name: tool.name.clone(),
        input_schema: server_schema,
        defaults: read.defaults.clone(),
        fixed: read.fixed.clone(),
        offered: offered.into_iter().flat_map(Map::keys).cloned().collect(),
    };
    if let Some(name) = &read.name {
        tool.name.clone_from(name);
    }
    if let Some(description) = &read.description {
        tool.description = Some(description.clone());
    }
    set_annotations(&mut tool, read);
    tool.overridden = Some(Arc::new(own));
    Ok(tool)
}

/// Finds errors that are certain from the argument's own schema. The whole schema is applied to each call.
fn check_value(schema: &Value, name: &str, value: &Value) -> Result<(), String> {
    if let Some(declared) = declared_names(schema)
        && !declared.contains(&name)
    {
        let suggestion = suggestion(name, declared.into_iter());
        return Err(format!("is not an argument of the tool{suggestion}"));
    }
    let view = SchemaView::new(schema);
    let member = view.member(name);
    let types = view.types(&member);
    if !types.allows_value(value) {
        return Err(format!(
            "must be of the type {}",
            types.names().join(" or ")
        ));
    }
    let listed = view.listed_values(&member);
    if !listed.is_empty() && types == listed_types(&listed) && !listed.contains(&value) {
        return Err("is not one of the values that the tool accepts".into());
    }
    Ok(())
}

fn listed_types(listed: &[&Value]) -> JsonTypes {
    let types = listed.iter().map(|value| JsonTypes::of_value(value));
    types.fold(JsonTypes::NONE, |one, other| one | other)
}

/// The schemas that describe the same object as this schema.
const SAME_OBJECT_KEYWORDS: [&str; 5] = ["allOf", "anyOf", "oneOf", "then", "else"];

fn each_schema_of_object(schema: &mut Value, change: &dyn Fn(&mut Map<String, Value>)) {
    let Value::Object(members) = schema else {
        return;
    };
    change(members);
    for keyword in SAME_OBJECT_KEYWORDS {
        match members.get_mut(keyword) {
            Some(Value::Array(parts)) => {
                for part in parts {
                    each_schema_of_object(part, change);
                }
            }
            Some(part) => each_schema_of_object(part, change),
            None => {}
        }
    }
    if let Some(Value::Object(dependent)) = members.get_mut("dependentSchemas") {
        for part in dependent.values_mut() {
            each_schema_of_object(part, change);
        }
    }
}

fn hide_arguments(schema: &mut Value, hidden: &Map<String, Value>) {
    each_schema_of_object(schema, &|members| {
        if let Some(Value::Object(properties)) = members.get_mut("properties") {
            properties.retain(|name, _| !hidden.contains_key(name));
        }
        not_required(members, hidden);
    });
}

fn make_optional(schema: &mut Value, defaults: &Map<String, Value>) {
    each_schema_of_object(schema, &|members| {
        if let Some(Value::Object(properties)) = members.get_mut("properties") {
            for (name, value) in defaults {
                if let Some(Value::Object(property)) = properties.get_mut(name) {
                    property.insert("default".into(), value.clone());
                }
            }
        }
        not_required(members, defaults);
    });
}

fn not_required(members: &mut Map<String, Value>, given: &Map<String, Value>) {
    if let Some(Value::Array(required)) = members.get_mut("required") {
        required.retain(|name| name.as_str().is_none_or(|name| !given.contains_key(name)));
    }
}

fn set_annotations(tool: &mut ToolDescription, read: &ToolOverride) {
    let wanted = &read.annotations;
    let hints = [
        ("readOnlyHint", wanted.read_only),
        ("destructiveHint", wanted.destructive),
        ("idempotentHint", wanted.idempotent),
        ("openWorldHint", wanted.open_world),
    ];
    let set: Vec<_> = hints
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    if set.is_empty() {
        return;
    }
    tool.read_only = wanted.read_only.or(tool.read_only);
    tool.destructive = wanted.destructive.or(tool.destructive);
    let annotations = tool.extra.entry("annotations").or_insert_with(|| json!({}));
    for (name, value) in set {
        annotations[name] = value.into();
    }
}

#[cfg(test)]
mod tests {
    use mux_config::{Config, environment::Environment};
    use mux_settings::Settings;
    use mux_wire::FaultKind;

    use super::*;
    use crate::ToolSet;

    fn overrides(text: &str) -> ToolOverrides {
        let config =
            Config::parse(&format!("[servers.hub]\ncommand = \"x\"\n{text}"), "c").unwrap();
        let settings =
            Settings::resolve(config, &Environment::default(), std::path::Path::new("/"));
        let server = settings.servers["hub"].definition.as_ref().unwrap();
        server.overrides.clone()
    }

    fn set(text: &str) -> ToolSet {
        let tool = |name: &str| {
            ToolDescription::of_definition(&json!({
                "name": name,
                "description": "D",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "owner": { "type": "string" },
                        "repo": { "type": "string" },
                        "title": { "type": "string" },
                        "state": { "enum": ["open", "closed"] },
                    },
                    "required": ["owner", "repo", "title"],
                },
                "annotations": { "readOnlyHint": false },
            }))
        };
        let tools = ["create-issue", "list_issues"]
            .iter()
            .filter_map(|name| tool(name));
        ToolSet::new("hub", tools.collect(), &[], &overrides(text))
    }

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[tokio::test]
    async fn tool_is_shown_and_called_as_the_override_says() {
        let set = set(
            "[servers.hub.override.create_issue]\nname = \"new_issue\"\ndescription = \"Ours\"\n\
            annotations = { destructive = true }\ndefaults = { owner = \"acme\" }\nfixed = { repo = \"site\" }\n",
        );
        assert_eq!(set.warnings, Vec::<String>::new());
        assert!(set.find("create-issue").is_none());
        let tool = set.find("new_issue").unwrap();
        assert_eq!(
            (tool.server_name(), tool.description.as_deref()),
            ("create-issue", Some("Ours"))
        );
        assert_eq!(tool.hints().destructive, Some(true));
        let shown = tool.definition();
        assert_eq!(shown["inputSchema"]["required"], json!(["title"]));
        assert_eq!(
            shown["inputSchema"]["properties"]["owner"]["default"],
            "acme"
        );
        assert_eq!(shown["inputSchema"]["properties"].get("repo"), None);
        assert_eq!(
            shown["annotations"],
            json!({ "readOnlyHint": false, "destructiveHint": true })
        );
        let sent = tool
            .complete_arguments(object(&json!({ "title": "t" })))
            .unwrap();
        let sent = tool.check_arguments(sent).await.unwrap();
        assert_eq!(
            Value::Object(sent),
            json!({ "title": "t", "owner": "acme", "repo": "site" })
        );
        let sent = tool
            .complete_arguments(object(&json!({ "title": "t", "owner": "me" })))
            .unwrap();
        assert_eq!(sent["owner"], "me");
        let wrong = tool
            .complete_arguments(object(&json!({ "title": 1 })))
            .unwrap();
        let fault = tool.check_arguments(wrong).await.unwrap_err();
        assert!(
            fault
                .hint
                .unwrap()
                .contains("the override of hub.create-issue gives `repo`, `owner`")
        );
    }

    #[test]
    fn fixed_argument_cannot_be_given_in_any_spelling() {
        let set = set("[servers.hub.override.create_issue]\nfixed = { repo = \"site\" }\n");
        let tool = set.find("create-issue").unwrap();
        for name in ["repo", "Repo", "REPO", "re_po", "r-e-p-o", " repo "] {
            let given = Map::from_iter([(name.to_owned(), json!("site"))]);
            let fault = tool.complete_arguments(given).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Validation, "{name}");
            assert!(
                fault.message.contains("is fixed by the override"),
                "{}",
                fault.message
            );
        }
    }

    #[test]
    fn override_with_a_mistake_withholds_its_tool_and_no_other() {
        for (text, mistake) in [
            (
                "fixed = { repo = 1 }",
                "`fixed.repo` must be of the type string",
            ),
            (
                "defaults = { state = \"ajar\" }",
                "`defaults.state` is not one of the values",
            ),
            ("fixed = { rep = \"x\" }", "did you mean \"repo\"?"),
            ("name = \"list-issues\"", "choose another name"),
            ("title = \"x\"", "unknown key"),
        ] {
            let set = set(&format!("[servers.hub.override.create_issue]\n{text}\n"));
            assert!(set.find("create-issue").is_none(), "{text}");
            assert!(set.find("list_issues").is_some(), "{text}");
            assert_eq!(set.warnings.len(), 1, "{:?}", set.warnings);
            assert!(set.warnings[0].contains(mistake), "{:?}", set.warnings);
        }
        let set = set("[servers.hub.override.create_isue]\nname = \"x\"\n");
        assert_eq!(set.len(), 2);
        assert!(
            set.warnings[0].contains("did you mean \"create-issue\"?"),
            "{:?}",
            set.warnings
        );
    }

    #[test]
    fn names_can_be_exchanged_and_a_change_of_a_value_is_another_definition() {
        let set = set(
            "[servers.hub.override.create_issue]\nname = \"list_issues\"\n\
            [servers.hub.override.list_issues]\nname = \"create_issue\"\n",
        );
        assert_eq!(set.warnings, Vec::<String>::new());
        assert_eq!(
            set.find("list_issues").unwrap().server_name(),
            "create-issue"
        );
        let key = |repo: &str| {
            let text =
                format!("[servers.hub.override.create_issue]\nfixed = {{ repo = \"{repo}\" }}\n");
            super::tests::set(&text)
                .find("create_issue")
                .unwrap()
                .definition_key
        };
        assert_ne!(key("a"), key("b"));
        assert_eq!(key("a"), key("a"));
    }
}
