//! Small native programs that stand in for `mux`, `muxd` and `mux-worker` where their size would cost time.
//!
//! The programs are compiled by `cc`, with which Rust links, because scripts read the symbols and the libraries of a
//! program.

use std::{fs, path::Path, process::Command};

use crate::env::output;

const SOURCE: &str = r#"
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
  if (count == 2 && arguments[1][0] == '-') {
    puts(VERSION);
    return 0;
  }
  if (count == 3 && strcmp(arguments[2], "--json") == 0) {
    puts("{\"build\":\"0.0.1\",\"engine\":\"v8 1.2.3\"}");
    return 0;
  }
  if (count == 3 && strcmp(arguments[1], "man") == 0) {
    char path[4096];
    snprintf(path, sizeof path, "%s/mux.1", arguments[2]);
    FILE *page = fopen(path, "w");
    fputs(".TH mux 1\n", page);
    return fclose(page);
  }
  for (int i = 1; i < count; i++) puts(arguments[i]);
  return strcmp(arguments[count - 1], "fail") == 0 ? 7 : 0;
}
"#;

/// Compiles a program that prints `version` for an option, the version of an engine with `--json`, writes a page for
/// `man DIR`, and otherwise prints its arguments. The program exits with 7 if the last argument is `fail`.
pub fn fake_program(path: &Path, version: &str) {
    compiled_program(Command::new("cc"), path, version);
}

fn compiled_program(mut compile: Command, path: &Path, version: &str) {
    let source = path.with_extension("c");
    fs::write(&source, SOURCE).unwrap();
    compile.arg("-g").arg(format!("-DVERSION=\"{version}\""));
    output(compile.arg("-o").arg(path).arg(&source)).ok();
    fs::remove_file(source).unwrap();
}

/// Compiles the three programs, all of this version, in a new directory.
pub fn fake_programs(folder: &Path, version: &str) {
    cross_compiled_programs("cc", folder, version);
}

/// Compiles the three programs for the platform of a compiler.
pub fn cross_compiled_programs(compiler: &str, folder: &Path, version: &str) {
    compiled_programs(|| Command::new(compiler), folder, version);
}

/// Compiles the three programs without shared libraries.
pub fn static_programs(compiler: &str, folder: &Path, version: &str) {
    let compile = || {
        let mut compile = Command::new(compiler);
        compile.arg("-static");
        compile
    };
    compiled_programs(compile, folder, version);
}

fn compiled_programs(compile: impl Fn() -> Command, folder: &Path, version: &str) {
    fs::create_dir(folder).unwrap();
    for name in ["mux", "muxd", "mux-worker"] {
        let version = format!("{name} {version} (fake)");
        compiled_program(compile(), &folder.join(name), &version);
    }
}
