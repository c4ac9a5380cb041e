//! Hints for globals and modules that programs expect and the sandbox does not have.
//!
//! Invariant: every global below is missing in the guest's realm. The case `globals_that_are_missing` of the guest
//! tests checks this.

use mux_typegen::names::is_reserved;

const NETWORK_HINT: &str = "a program has no network of its own; call the tools of a server: `await mux.<server>.<tool>(args)`";
const FILES_HINT: &str = "a program has no files of its own; read and write them with the tools of a server: \
                     `await mux.<server>.<tool>(args)`";
const SYSTEM_HINT: &str = "arguments and settings come in `mux.input`; files and processes are reached by the tools of \
                      a server: `await mux.<server>.<tool>(args)`";
const MODULES_HINT: &str =
    "programs cannot import modules: call tools as `await mux.<server>.<tool>(args)`";
const BYTES_HINT: &str = "bytes are a Uint8Array here; see TextEncoder, TextDecoder, atob and btoa";
const BROWSER_HINT: &str = "this is not a browser; the global object is `globalThis`, and the caller's input is `mux.input`";
const TIMERS_HINT: &str = "use `setTimeout(run, 0)` or `queueMicrotask(run)`";
const CODE_GENERATION_HINT: &str = "compiling code and shared memory are switched off here";

const WAITING_HINT: &str = "calls cannot be aborted: to stop waiting, use \
     `Promise.race([call, new Promise((done) => setTimeout(done, ms))])`";
const EVENTS_HINT: &str = "there are no events here: use functions and promises";
const DATES_HINT: &str = "use `Date` and `Intl.DateTimeFormat`";

/// The replacement for a global.
pub fn global_hint(name: &str) -> Option<&'static str> {
    let text = match name {
        "fetch" | "XMLHttpRequest" | "WebSocket" | "EventSource" | "Request" | "Response"
        | "Headers" | "axios" | "http" | "https" | "net" | "got" => NETWORK_HINT,
        "fs" | "path" | "__dirname" | "__filename" => FILES_HINT,
        "process" | "Deno" | "Bun" | "os" | "child_process" => SYSTEM_HINT,
        "require" | "module" | "exports" | "importScripts" => MODULES_HINT,
        "Buffer" | "Blob" | "File" => BYTES_HINT,
        "window" | "document" | "self" | "global" | "location" | "navigator" | "localStorage"
        | "sessionStorage" | "alert" | "prompt" => BROWSER_HINT,
        "setImmediate" => TIMERS_HINT,
        "AbortController" | "AbortSignal" => WAITING_HINT,
        "EventTarget" | "Event" | "CustomEvent" | "EventEmitter" | "MessageChannel" => EVENTS_HINT,
        "Temporal" => DATES_HINT,
        "WebAssembly" | "SharedArrayBuffer" | "Atomics" | "eval" => CODE_GENERATION_HINT,
        _ => return None,
    };
    Some(text)
}

/// The replacement for a module.
pub fn module_hint(specifier: &str) -> String {
    let name = specifier.strip_prefix("node:").unwrap_or(specifier);
    let name = name.split('/').next().unwrap_or_default();
    let instead = match name {
        "axios" | "node-fetch" | "undici" | "got" | "http" | "https" | "http2" | "net" | "ws"
        | "dns" => NETWORK_HINT,
        "fs" | "fs-extra" | "path" | "glob" => FILES_HINT,
        "process" | "os" | "child_process" | "dotenv" | "yargs" | "commander" => SYSTEM_HINT,
        "buffer" => BYTES_HINT,
        "url" => "`URL` and `URLSearchParams` are globals already",
        "crypto" | "uuid" => {
            "`crypto.randomUUID()` and `crypto.getRandomValues()` are globals already"
        }
        "timers" => {
            "`setTimeout` is a global already: `await new Promise((done) => setTimeout(done, ms))`"
        }
        _ => return MODULES_HINT.into(),
    };
    format!("programs cannot import modules: {instead}")
}

/// A hint for a call of a member of `mux` that is not a function, such as `mux.files.list.all`.
pub fn non_function_hint(path: &str) -> Option<String> {
    let inner = path.strip_prefix("mux.")?;
    let (above, _) = inner.rsplit_once('.').unwrap_or(("", inner));
    let first = inner.split('.').next()?;
    if is_reserved(first) || !inner.chars().all(is_path_char) {
        return None;
    }
    let above = match above {
        "" => "mux".to_owned(),
        above => format!("mux.{above}"),
    };
    Some(format!(
        "no tool has this name: `Object.keys({above})` lists what is there, `mux.search(\"words\")` finds tools"
    ))
}

fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')
}

/// A hint for code that is compiled from a string.
pub fn code_generation_hint() -> &'static str {
    CODE_GENERATION_HINT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_hint_depends_on_the_first_path_segment() {
        for (specifier, text) in [
            ("fs", FILES_HINT),
            ("node:fs/promises", FILES_HINT),
            ("node:process", SYSTEM_HINT),
            ("axios", NETWORK_HINT),
            ("lodash", MODULES_HINT),
            ("./own.js", MODULES_HINT),
        ] {
            let hint = module_hint(specifier);
            assert!(hint.ends_with(text), "{specifier}: {hint}");
        }
        assert!(module_hint("node:crypto").contains("randomUUID"));
    }

    #[test]
    fn hint_for_a_non_function_names_its_parent_object() {
        for (path, above) in [
            ("mux.files.list.all", Some("Object.keys(mux.files.list)")),
            ("mux.petstore.pet", Some("Object.keys(mux.petstore)")),
            ("mux.files", Some("Object.keys(mux)")),
            ("mux.input.x", None),
            ("mux.read.x", None),
            ("mux.a(...).b", None),
            ("mux", None),
            ("other.a.b", None),
        ] {
            let hint = non_function_hint(path);
            let names_above = hint
                .as_deref()
                .zip(above)
                .is_some_and(|(hint, above)| hint.contains(above));
            assert_eq!(
                (hint.is_some(), names_above),
                (above.is_some(), above.is_some()),
                "{path}"
            );
        }
    }

    #[test]
    fn existing_globals_have_no_hint() {
        for name in ["URL", "crypto", "console", "setTimeout", "mux", "Function"] {
            assert_eq!(global_hint(name), None, "{name}");
        }
    }
}
