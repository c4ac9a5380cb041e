//! A checker in a temporary directory, and small types to check against.

use std::{path::PathBuf, sync::Arc, thread, time::Duration};

use mux_typecheck::{CheckFailure, CheckSettings, Checker, Diagnostic, TypeDeclarations};
use mux_typegen::{ServerDecl, ToolDecl, checker_declarations};
use mux_wire::program_wrapper::strip_bom_hashbang_and_fence;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The timeout of everything that could hang.
const HANG: Duration = Duration::from_mins(2);

pub(super) struct Setting {
    pub(super) home: TempDir,
    pub(super) checker: Arc<Checker>,
    pub(super) types: TypeDeclarations,
}

#[expect(
    clippy::disallowed_methods,
    reason = "scripts/setup tells tests through the environment what it installed"
)]
pub(super) fn compiler() -> PathBuf {
    match std::env::var_os("MUX_TEST_TSC") {
        Some(path) => path.into(),
        None => panic!("no compiler: run `scripts/setup --types && . build/env`"),
    }
}

impl Setting {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A checker with changed settings.
    pub(super) fn with(change: impl FnOnce(&mut CheckSettings)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut settings = CheckSettings {
            compiler: Some(compiler()),
            managed: home.path().join("typescript"),
            search_path: Some("/usr/local/bin:/usr/bin:/bin".into()),
            work: home.path().join("check"),
            // Long, because other tests run concurrently.
            deadline: Duration::from_secs(20),
            memory: 1 << 30,
            idle: Duration::from_mins(10),
        };
        std::fs::create_dir_all(&settings.work).unwrap();
        change(&mut settings);
        Self {
            home,
            checker: Checker::new(settings),
            types: types(&[]),
        }
    }

    pub(super) async fn try_check(&self, source: &str) -> Result<Arc<[Diagnostic]>, CheckFailure> {
        self.against(&self.types, source).await
    }

    pub(super) async fn against(
        &self,
        types: &TypeDeclarations,
        source: &str,
    ) -> Result<Arc<[Diagnostic]>, CheckFailure> {
        let plain = strip_bom_hashbang_and_fence(source);
        // With a stack as large as a worker's.
        let syntax = async move {
            let reader = thread::Builder::new().stack_size(256 << 20);
            let read = reader.spawn(move || mux_syntax::read_syntax(&plain));
            Ok(read.unwrap().join().unwrap())
        };
        let checked = self.checker.check(types, source, syntax);
        let verdict = tokio::time::timeout(HANG, checked).await;
        verdict.unwrap_or_else(|_| panic!("no verdict on {source:.80}"))
    }

    #[track_caller]
    pub(super) fn check(&self, source: &str) -> impl Future<Output = Arc<[Diagnostic]>> {
        let place = std::panic::Location::caller();
        async move {
            match self.try_check(source).await {
                Ok(found) => found,
                Err(error) => panic!("{place}: {error}"),
            }
        }
    }

    /// Fails if a program has any diagnostics.
    pub(super) async fn is_right(&self, source: &str) {
        let found = self.check(source).await;
        assert!(found.is_empty(), "{source}\n{found:#?}");
    }

    /// Resolves when the compiler has exited.
    pub(super) async fn ended(&self) {
        let ended = tokio::time::timeout(HANG, self.checker.wait_until_stopped()).await;
        ended.expect("the compiler ends");
    }
}

/// Types of `files.read`, `files.touch`, `my-server.get-thing`, and the tools of `more`, which have no parameters.
pub(super) fn types(more: &[&str]) -> TypeDeclarations {
    let read = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string" },
            "head": { "type": "integer" },
            "mode": { "enum": ["text", "binary"] },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let result = json!({
        "type": "object",
        "properties": {
            "lines": { "type": "array", "items": { "type": "string" } },
            "owner": { "type": "object", "properties": { "login": { "type": "string" } }, "required": ["login"] },
            "next": { "type": "string" },
        },
        "required": ["lines", "owner"],
        "additionalProperties": false,
    });
    let nothing = json!({ "type": "object", "properties": {} });
    let mut tools = vec![
        tool("read", &read, Some(&result)),
        tool("touch", &read, None),
    ];
    tools.extend(more.iter().map(|name| tool(name, &nothing, None)));
    let text = checker_declarations(&[
        ServerDecl {
            name: "files",
            tools,
            note: None,
        },
        ServerDecl {
            name: "my-server",
            tools: vec![tool("get-thing", &read, Some(&result))],
            note: None,
        },
    ]);
    TypeDeclarations {
        hash: hash(&text),
        text: text.as_str().into(),
    }
}

fn tool<'a>(
    name: &'a str,
    input_schema: &'a Value,
    output_schema: Option<&'a Value>,
) -> ToolDecl<'a> {
    ToolDecl {
        observed: None,
        name,
        title: None,
        description: Some("What it does."),
        input_schema: input_schema.into(),
        output_schema: output_schema.map(Into::into),
    }
}

/// Any hash of the text will do.
fn hash(text: &str) -> [u8; 32] {
    use std::hash::{DefaultHasher, Hash, Hasher};

    let mut hash = [0; 32];
    for (number, part) in hash.chunks_mut(8).enumerate() {
        let mut hasher = DefaultHasher::new();
        (number, text).hash(&mut hasher);
        part.copy_from_slice(&hasher.finish().to_le_bytes());
    }
    hash
}
