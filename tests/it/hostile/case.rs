//! One case file: a program, and how it must end.
//!
//! The head of a file is its first comment lines. Lines that begin with one of these words are parsed. The others are
//! comments:
//!
//! - `// must: result JSON` or `// must: error KIND`; several are alternatives.
//! - `// must on ENGINE: …` replaces these on an engine with worse results.
//! - `// says: TEXT`: the error's message or hint contains this, case-insensitively.
//! - `// console: TEXT`: the console contains this.
//! - `// args: WORDS`: more arguments for `mux run`, without spaces in them.
//! - `// engine: NAME`: the case is for this engine only.
//! - `// expand: MARK COUNT TEXT`: each MARK in the program is replaced by COUNT copies of TEXT.

use std::{fs, path::Path};

use mux_tests::Output;
use serde_json::Value;

pub(super) struct Case {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) args: Vec<String>,
    must: Vec<End>,
    /// Each end with the name of its engine.
    must_on: Vec<(String, End)>,
    says: Vec<String>,
    console: Vec<String>,
    engine: Option<String>,
}

#[derive(Debug, PartialEq)]
enum End {
    Result(Value),
    Error(String),
}

impl Case {
    pub(super) fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let mut case = Self {
            name: file.file_stem().unwrap().to_string_lossy().into_owned(),
            program: String::new(),
            args: Vec::new(),
            must: Vec::new(),
            must_on: Vec::new(),
            says: Vec::new(),
            console: Vec::new(),
            engine: None,
        };
        let mut expansions = Vec::new();
        for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
            let (word, rest) = line.split_once(": ").unwrap_or((line, ""));
            match word {
                "must" => case.must.push(End::read(rest)),
                "says" => case.says.push(rest.to_lowercase()),
                "console" => case.console.push(rest.into()),
                "args" => case.args.extend(rest.split(' ').map(str::to_owned)),
                "engine" => case.engine = Some(rest.into()),
                "expand" => expansions.push(rest.to_owned()),
                _ => {
                    if let Some(engine) = word.strip_prefix("must on ") {
                        case.must_on.push((engine.into(), End::read(rest)));
                    }
                }
            }
        }
        assert!(!case.must.is_empty(), "{}: no `// must: `", case.name);
        let head = text
            .lines()
            .take_while(|line| line.starts_with("// "))
            .count();
        case.program = text.lines().skip(head).collect::<Vec<_>>().join("\n");
        for expansion in expansions {
            let mut words = expansion.splitn(3, ' ');
            let mut next = || words.next().expect("MARK COUNT TEXT");
            let mark = next();
            let count = next().parse().unwrap();
            let text = next();
            case.program = case.program.replace(mark, &text.repeat(count));
        }
        case
    }

    pub(super) fn is_for(&self, engine: &str) -> bool {
        self.engine.as_deref().is_none_or(|only| only == engine)
    }

    /// Returns true if the case may end with a timeout.
    pub(super) fn may_time_out(&self) -> bool {
        let on_engines = self.must_on.iter().map(|(_, end)| end);
        let timeout = End::Error("timeout".into());
        self.must
            .iter()
            .chain(on_engines)
            .any(|end| *end == timeout)
    }

    /// Checks that the program ended as it must on this engine.
    pub(super) fn judge(&self, output: &Output, engine: &str) -> Result<(), String> {
        let Ok(document) = serde_json::from_str::<Value>(&output.stdout) else {
            return Err(format!("no document but {output:?}"));
        };
        let end = match document["error"]["kind"].as_str() {
            Some(kind) => End::Error(kind.to_owned()),
            None => End::Result(document["result"].clone()),
        };
        let shown = || {
            let mut shown = document.to_string();
            shown.truncate(shown.floor_char_boundary(600));
            shown
        };
        let of_engine = self.must_on.iter().filter(|(name, _)| name == engine);
        let of_engine: Vec<&End> = of_engine.map(|(_, end)| end).collect();
        if !of_engine.is_empty() {
            let ok = of_engine.contains(&&end);
            return ok
                .then_some(())
                .ok_or_else(|| format!("must end with {of_engine:?}, but: {}", shown()));
        }
        if !self.must.contains(&end) {
            return Err(format!("must end with {:?}, but: {}", self.must, shown()));
        }
        let error = &document["error"];
        let text = |field: &str| error[field].as_str().unwrap_or_default().to_lowercase();
        let said = format!("{} {}", text("message"), text("hint"));
        if let Some(part) = self.says.iter().find(|part| !said.contains(*part)) {
            return Err(format!("must say {part:?}, but: {}", shown()));
        }
        let console = document["console"].to_string();
        if let Some(part) = self.console.iter().find(|part| !console.contains(*part)) {
            return Err(format!("the console must hold {part:?}, but: {}", shown()));
        }
        Ok(())
    }
}

impl End {
    fn read(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("result", json)) => Self::Result(serde_json::from_str(json).unwrap()),
            Some(("error", kind)) => Self::Error(kind.into()),
            _ => panic!("`// must: {text}` is neither a result nor an error"),
        }
    }
}
