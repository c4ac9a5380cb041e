//! Which functions are compiled in a snapshot: those of the scripts that most runs use.
//!
//! Compiled functions make a snapshot longer, and each isolate takes longer to build. Any other function is compiled
//! when a program calls it first.

use std::rc::Rc;

use deno_core::{ExtCodeCache, ModuleSourceCode, ModuleSpecifier, SourceCodeCacheInfo};

/// The scripts whose functions are compiled.
const HOT_SCRIPTS: [&str; 4] = [
    "ext:mux/boot.js",
    "ext:mux/json.js",
    "ext:mux/mux.js",
    "ext:mux/worlds.js",
];

/// An empty cache. The engine asks it before it compiles a script, which is when the flag for that script can be set.
/// Use it only in a process that does nothing else.
pub(super) struct HotScripts;

impl HotScripts {
    /// Call this before the engine is initialized.
    pub(super) fn prepare() -> Rc<dyn ExtCodeCache> {
        set_flag("--no-freeze-flags-after-init");
        Rc::new(Self)
    }
}

impl ExtCodeCache for HotScripts {
    fn get_code_cache_info(
        &self,
        specifier: &ModuleSpecifier,
        _code: &ModuleSourceCode,
        _esm: bool,
    ) -> SourceCodeCacheInfo {
        set_flag(if HOT_SCRIPTS.contains(&specifier.as_str()) {
            "--no-lazy"
        } else {
            "--lazy"
        });
        SourceCodeCacheInfo {
            hash: 0,
            data: None,
        }
    }

    fn code_cache_ready(&self, _: ModuleSpecifier, _hash: u64, _code_cache: &[u8], _esm: bool) {}
}

fn set_flag(flag: &str) {
    deno_core::v8_set_flags(vec!["mux-worker".into(), flag.into()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;

    #[test]
    fn hot_scripts_exist() {
        let extension = ops::extension();
        for hot in HOT_SCRIPTS {
            let mut scripts = extension.esm_files.iter();
            assert!(scripts.any(|script| script.specifier == hot), "{hot}");
        }
    }
}
