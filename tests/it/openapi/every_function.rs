//! Every function of every description can be called: arguments that its schema accepts are sent.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{Method, Uri},
};
use mux_schema::{CompiledSchema, MistakeWording, SchemaVerdict};
use mux_settings::{DescriptionLocation, SourceCredential, SourceDefinition, SourceKind};
use mux_sources::{CallProgress, Source, Sources};
use mux_tests::env::apis;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    string::string_regex,
    test_runner::TestRunner,
};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

/// The nesting of generated arguments.
const MAX_DEPTH: usize = 12;
/// The number of optional members of one generated object.
const MAX_OPTIONAL_MEMBERS: usize = 40;

/// How many members generated arguments have.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extent {
    /// The required ones.
    Least,
    /// Also the optional ones, down to this level.
    Most(usize),
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_function_of_every_small_description_is_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/openapi");
    let calls = call_every_function(&folder, "yaml").await;
    assert!(calls > 40, "{calls}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apis_every_function_of_every_large_description_is_sent() {
    let calls = call_every_function(&apis(), "json").await;
    assert!(calls > 15_000, "{calls}");
}

/// Calls every function of every description in a folder, and asserts that all calls are sent. Returns their number.
async fn call_every_function(folder: &Path, kind: &str) -> usize {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == kind));
    paths.sort();
    let mut calls = 0;
    let mut with_least = 0;
    let mut failures = Vec::new();
    let mut ambiguous = 0;
    for path in paths {
        let (base, received) = record().await;
        let Some(source) = open(&path, &base).await else {
            continue;
        };
        let name = path.file_name().unwrap().to_string_lossy();
        for page in 0..source.tool_page_count() {
            for tool in source.tools(page) {
                calls += 1;
                match call(&source, &tool, &received).await {
                    Ok(Extent::Least) => with_least += 1,
                    Ok(Extent::Most(_)) => {}
                    // Amazon's description gives an object's member and another parameter one name.
                    Err(why) if why.contains("would be sent as the argument") => ambiguous += 1,
                    Err(why) => failures.push(format!("{name} {}: {why}", tool["name"])),
                }
            }
        }
    }
    let shown = failures[..failures.len().min(40)].join("\n");
    assert!(
        failures.is_empty(),
        "{} of {calls} calls\n{shown}",
        failures.len()
    );
    assert!(
        ambiguous * 1000 < calls,
        "{ambiguous} of {calls} calls have a member that takes another argument's place"
    );
    assert!(
        with_least * 20 < calls,
        "{with_least} of {calls} calls have required arguments only"
    );
    calls
}

/// Calls a function. Returns the extent of its arguments.
async fn call(
    source: &Arc<dyn Source>,
    tool: &Value,
    received: &ReceivedRequests,
) -> Result<Extent, String> {
    let name = tool["name"].as_str().unwrap();
    let schema = &tool["inputSchema"];
    let compiled = CompiledSchema::compile(schema).map_err(|error| error.to_string())?;
    let compiled = Arc::new(compiled);
    let mut extent = Extent::Most(2);
    let all = generate(schema, extent);
    let (mut arguments, mut verdict) = Arc::clone(&compiled)
        .check(all, MistakeWording::Author)
        .await;
    if verdict != SchemaVerdict::Fits {
        // Optional members may exclude each other.
        extent = Extent::Least;
        let least = generate(schema, extent);
        (arguments, verdict) = compiled.check(least, MistakeWording::Author).await;
    }
    if let SchemaVerdict::Fails(mistakes) = verdict {
        return Err(format!("{arguments} is refused: {}", mistakes.join("; ")));
    }
    let Value::Object(members) = arguments else {
        return Err(format!("{arguments} is no object"));
    };
    received.lock().unwrap().clear();
    let progress = CallProgress::to_nobody(Duration::from_mins(1));
    let shown = Value::Object(members.clone());
    let called = Arc::clone(source).call(name.to_owned(), members, progress);
    if let Err(failure) = called.await {
        return Err(format!("{shown} was not sent: {failure}"));
    }
    let http = &tool["_meta"]["mux/http"];
    let path = http["path"].as_str().unwrap();
    let start = path.split(['{', '?', '#']).next().unwrap_or_default();
    let expected = format!("{} {start}", http["method"].as_str().unwrap());
    match received.lock().unwrap().as_slice() {
        [request] if request.starts_with(&expected) => Ok(extent),
        requests => Err(format!(
            "{shown} was received as {requests:?}, not as {expected}…"
        )),
    }
}

/// Method and path of each request.
type ReceivedRequests = Arc<Mutex<Vec<String>>>;

/// Starts an API that records its requests.
async fn record() -> (String, ReceivedRequests) {
    let received = ReceivedRequests::default();
    let add = async |State(received): State<ReceivedRequests>, method: Method, uri: Uri| {
        received
            .lock()
            .unwrap()
            .push(format!("{method} {}", uri.path()));
        Json(json!({}))
    };
    let routes = Router::new()
        .fallback(add)
        .with_state(Arc::clone(&received));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (base, received)
}

/// The source of a description, or `None` if it is of another format.
async fn open(path: &Path, base: &str) -> Option<Arc<dyn Source>> {
    let folder = tempfile::tempdir().unwrap();
    let sources = Sources::new(folder.path().join("kept"), folder.path().join("addresses"));
    let settings = definition(path.to_owned(), base, credentials(path)?);
    let opened = sources
        .open("api", &settings, Duration::from_mins(10))
        .await;
    let receiver = opened.unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
    let source = Arc::clone(&receiver.borrow());
    Some(source)
}

/// Credentials for every security scheme of a description, or `None` if it is not OpenAPI 3.
fn credentials(path: &Path) -> Option<BTreeMap<String, SourceCredential>> {
    let text = fs::read_to_string(path).unwrap();
    let description: Value = match serde_json::from_str(&text) {
        Ok(description) => description,
        Err(_) => serde_saphyr::from_str(&text).unwrap(),
    };
    description.get("openapi")?;
    let schemes = description["components"]["securitySchemes"].as_object();
    let credentials = schemes.into_iter().flatten().map(|(name, scheme)| {
        let credential = if scheme["scheme"] == "basic" {
            SourceCredential::Basic {
                username: "user".into(),
                password: "a-password-of-the-test".into(),
            }
        } else {
            SourceCredential::Text("a-credential-of-the-test".into())
        };
        (name.clone(), credential)
    });
    Some(credentials.collect())
}

fn definition(
    path: PathBuf,
    base: &str,
    credentials: BTreeMap<String, SourceCredential>,
) -> SourceDefinition {
    SourceDefinition {
        kind: SourceKind::OpenApi,
        written: path.display().to_string(),
        description: Some(DescriptionLocation::File(path)),
        base_url: Some(base.to_owned()),
        variables: BTreeMap::new(),
        origins: Vec::new(),
        headers: BTreeMap::new(),
        secret_headers: Vec::new(),
        credentials,
        account: None,
        scopes: None,
        rate: None,
        refresh: Duration::from_hours(1),
        depth: 2,
        max_functions: 20_000,
        exclude: Vec::new(),
        network: Arc::default(),
    }
}

/// Arguments for a schema.
fn generate(schema: &Value, extent: Extent) -> Value {
    let mut generator = Generator {
        document: schema,
        extent,
        runner: TestRunner::deterministic(),
    };
    generator.value(schema, 0)
}

struct Generator<'a> {
    document: &'a Value,
    extent: Extent,
    runner: TestRunner,
}

impl Generator<'_> {
    /// A value that the schema accepts, as far as its keywords can be followed.
    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        let Some(map) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return json!("a");
        };
        let map = self.flattened(map, depth);
        if let Some(constant) = map.get("const") {
            return constant.clone();
        }
        if let Some(first) = map.get("enum").and_then(|values| values.get(0)) {
            return first.clone();
        }
        let kind = match map.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or_default(),
            _ if map.contains_key("properties") || map.contains_key("required") => "object",
            _ if map.contains_key("items") => "array",
            _ => "string",
        };
        match kind {
            "object" => self.object(&map, depth),
            "array" => self.array(&map, depth),
            "integer" | "number" => number(&map, kind == "integer"),
            "boolean" => json!(true),
            "null" => Value::Null,
            _ => self.text(&map),
        }
    }

    /// The schema with its reference, its parts and its first alternatives as one.
    fn flattened(&self, map: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut flat = map.clone();
        if depth > MAX_DEPTH {
            return flat;
        }
        let mut parts = Vec::new();
        if let Some(Value::String(reference)) = flat.shift_remove("$ref") {
            parts.extend(
                self.document
                    .pointer(reference.trim_start_matches('#'))
                    .cloned(),
            );
        }
        if let Some(Value::Array(all)) = flat.shift_remove("allOf") {
            parts.extend(all);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(alternatives)) = flat.shift_remove(keyword) {
                parts.extend(alternatives.into_iter().next());
            }
        }
        for part in parts {
            let Value::Object(part) = part else { continue };
            for (keyword, value) in self.flattened(&part, depth + 1) {
                merge(&mut flat, keyword, value);
            }
        }
        flat
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize) -> Value {
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = map.get("properties").and_then(Value::as_object);
        let mut members = Map::new();
        let mut optional = match self.extent {
            Extent::Most(levels) if depth < levels => MAX_OPTIONAL_MEMBERS,
            _ => 0,
        };
        for (name, schema) in properties.into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            if !is_required && (optional == 0 || *schema == Value::Bool(false)) {
                continue;
            }
            if !is_required {
                optional -= 1;
            }
            members.insert(name.clone(), self.value(schema, depth + 1));
        }
        for name in required {
            if !members.contains_key(name) {
                members.insert(name.to_owned(), json!("a"));
            }
        }
        let least = map
            .get("minProperties")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        let other = map
            .get("additionalProperties")
            .cloned()
            .unwrap_or(json!({}));
        for number in 0..least.saturating_sub(members.len() as u64) {
            members.insert(format!("other{number}"), self.value(&other, depth + 1));
        }
        Value::Object(members)
    }

    fn array(&mut self, map: &Map<String, Value>, depth: usize) -> Value {
        let items = map.get("items").cloned().unwrap_or(json!({}));
        let least = map
            .get("minItems")
            .and_then(Value::as_u64)
            .unwrap_or(1)
            .clamp(1, 10);
        let mut list: Vec<Value> = Vec::new();
        for number in 0..least {
            let mut item = self.value(&items, depth + 1);
            if list.contains(&item) {
                item = match item {
                    Value::String(text) => json!(format!("{text}{number}")),
                    Value::Number(first) => json!(first.as_u64().unwrap_or(0) + number),
                    other => other,
                };
            }
            list.push(item);
        }
        Value::Array(list)
    }

    fn text(&mut self, map: &Map<String, Value>) -> Value {
        if map.get("contentEncoding") == Some(&json!("base64")) {
            return json!("aGk=");
        }
        let length = |keyword: &str| map.get(keyword).and_then(Value::as_u64);
        let least = length("minLength").unwrap_or(1).max(1) as usize;
        if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
            let example = map.get("examples").and_then(|examples| examples.get(0));
            let examples = [example, map.get("default")];
            if let Some(found) = self.matching(pattern, least, length("maxLength")) {
                return json!(found);
            }
            return examples
                .into_iter()
                .flatten()
                .next()
                .cloned()
                .unwrap_or(json!("a"));
        }
        let text = match map.get("format").and_then(Value::as_str) {
            Some("date-time") => "2026-11-27T12:00:00Z",
            Some("date") => "2026-11-27",
            Some("uuid") => "00000000-0000-4000-8000-000000000000",
            Some("uri" | "url") => "https://example.com/",
            Some("email") => "a@example.com",
            Some("ipv4") => "192.0.2.1",
            _ => "a",
        };
        let most = length("maxLength").map_or(usize::MAX, |most| most as usize);
        json!(if text.len() > most || text.len() < least {
            "a".repeat(least)
        } else {
            text.to_owned()
        })
    }

    /// A text that matches a pattern and has the length.
    fn matching(&mut self, pattern: &str, least: usize, most: Option<u64>) -> Option<String> {
        let regex = regex::Regex::new(pattern).ok()?;
        let most = most.map_or(usize::MAX, |most| most as usize);
        let fits = |text: &String| {
            let length = text.chars().count();
            regex.is_match(text)
                && (least..=most).contains(&length)
                && !text.contains(char::is_control)
        };
        let simple = [
            "a",
            "1",
            "A",
            "a1",
            "https://example.com/",
            "2026-11-27",
            "arn:aws:a:b:c:d",
            "/a",
            "0.1",
        ];
        let simple = simple.iter().map(|text| (*text).to_owned());
        let repeated = ["a", "1", "A"].iter().map(|text| text.repeat(least));
        if let Some(found) = simple.chain(repeated).find(fits) {
            return Some(found);
        }
        // Anchors cannot be generated, and letters of other alphabets are not what APIs mean.
        let core = pattern
            .replace("\\d", "[0-9]")
            .replace("\\w", "[A-Za-z0-9_]");
        let core = core
            .replace("|^", "|")
            .replace("$|", "|")
            .replace("(^", "(")
            .replace("$)", ")");
        let core = core.trim_start_matches('^').trim_end_matches('$');
        let strategy = string_regex(core).ok()?;
        (0..200).find_map(|_| {
            let found = strategy.new_tree(&mut self.runner).ok()?.current();
            Some(found).filter(fits)
        })
    }
}

/// Adds a keyword of a part to a schema.
fn merge(flat: &mut Map<String, Value>, keyword: String, value: Value) {
    match (flat.get_mut(&keyword), value) {
        (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
            for (name, schema) in more {
                known.entry(name).or_insert(schema);
            }
        }
        (Some(Value::Array(known)), Value::Array(more)) if keyword == "required" => {
            known.extend(more);
        }
        (Some(_), _) => {}
        (None, value) => drop(flat.insert(keyword, value)),
    }
}

fn number(map: &Map<String, Value>, is_integer: bool) -> Value {
    let bound = |keyword: &str| map.get(keyword).and_then(Value::as_f64);
    let mut number = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|it| it + 1.0));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|it| it - 1.0));
    if let (None, Some(most)) = (number, most) {
        number = Some(most.min(1.0));
    }
    let mut number = number.unwrap_or(1.0);
    if let Some(step) = bound("multipleOf") {
        number = (number / step).ceil() * step;
    }
    if is_integer {
        return json!(number.ceil() as i64);
    }
    json!(number)
}
