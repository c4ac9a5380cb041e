//! `mux types --watch`: files that an editor reads.

use std::fs;

use mux_tests::TestEnv;
use nix::sys::signal::Signal;

#[test]
fn types_for_editors_are_updated_across_reloads_and_restarts() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let folder = env.path("scripts");
    let declarations = || fs::read_to_string(folder.join("mux.d.ts")).unwrap();
    let mut watch = env.begin(["types", "--watch", folder.to_str().unwrap()]);
    watch.wait_for("mux.d.ts is up to date");
    assert!(declarations().contains("readonly fix: Mux.Fix;"));
    let project = fs::read_to_string(folder.join("tsconfig.json")).unwrap();
    assert!(project.contains("es2024"), "{project}");

    // Another server.
    let config = [env.fixture("fix", &[]), env.fixture("other", &[])].concat();
    env.write_config(&config);
    env.mux(["reload"]).ok();
    until_has(&mut watch, &declarations, "readonly other: Mux.Other;");

    // Another daemon.
    env.stop();
    env.write_config(&env.fixture("third", &[]));
    until_has(&mut watch, &declarations, "readonly third: Mux.Third;");
    watch.signal(Signal::SIGINT);
    assert_eq!(watch.wait().code, 0);

    // A project file of the user is not overwritten.
    fs::write(folder.join("tsconfig.json"), "{}").unwrap();
    let mut watch = env.begin(["types", "--watch", folder.to_str().unwrap()]);
    watch.wait_for("mux.d.ts is up to date");
    watch.signal(Signal::SIGINT);
    watch.wait();
    let project = fs::read_to_string(folder.join("tsconfig.json")).unwrap();
    assert_eq!(project, "{}");
}

/// Reads the output of the command until the file contains `part`.
fn until_has(watch: &mut mux_tests::Running, file: &impl Fn() -> String, part: &str) {
    while !file().contains(part) {
        watch.wait_for_more("is up to date");
    }
}

#[test]
fn types_are_not_watched_where_nothing_can_be_written() {
    let env = TestEnv::with_fixtures(&[]);
    let file = env.path("file");
    fs::write(&file, "").unwrap();
    let folder = file.join("scripts");
    env.mux(["types", "--watch", folder.to_str().unwrap()])
        .fails(3, &["cannot write", "name a directory"]);
}

#[test]
fn link_of_a_repository_is_not_followed_when_declarations_are_written() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let victim = env.path("victim");
    fs::write(&victim, "mine").unwrap();
    let folder = env.path("scripts");
    fs::create_dir(&folder).unwrap();
    for name in [
        "mux.d.new",
        "mux.d.ts",
        "mux.d.ts.next",
        "tsconfig.new",
        "tsconfig.json",
    ] {
        std::os::unix::fs::symlink("../victim", folder.join(name)).unwrap();
    }
    let mut watch = env.begin(["types", "--watch", folder.to_str().unwrap()]);
    watch.wait_for("mux.d.ts is up to date");
    watch.signal(Signal::SIGINT);
    watch.wait();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    let declarations = folder.join("mux.d.ts");
    assert!(fs::symlink_metadata(&declarations).unwrap().is_file());
    assert!(
        fs::read_to_string(&declarations)
            .unwrap()
            .contains("readonly fix")
    );
}
