//! Projects: their files add servers for clients that work in them, once the user has approved the files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use mux_tests::{CommandTranscript, Output, TestEnv, env::binary, mux_snapshot, process};
use serde_json::{Value, json};

use super::until;

/// A project with this `.mcp.json`.
fn project(env: &TestEnv, name: &str, servers: &Value) -> PathBuf {
    let root = env.path(name);
    fs::create_dir_all(root.join("src/deep")).unwrap();
    let text = json!({ "mcpServers": servers });
    fs::write(root.join(".mcp.json"), format!("{text:#}\n")).unwrap();
    root
}

/// The entry of a fixture server that appends its pid to `NAME.pids` at each start.
fn fixture(env: &TestEnv, name: &str) -> Value {
    json!({
        "command": binary("mux-fixture-server"),
        "args": ["--pid-file", env.pid_file(name), "--name", name],
        "env": { "WHERE": "${PWD:-nowhere}" }
    })
}

fn at(env: &TestEnv, dir: &Path, args: &[&str]) -> Output {
    let mut command: Command = env.command("mux");
    mux_tests::env::output(command.current_dir(dir).args(args))
}

fn approve(env: &TestEnv, root: &Path) {
    let shown = at(env, root, &["project", "show", "--json"]).ok().json();
    let digest = shown["digest"].as_str().unwrap();
    at(env, root, &["project", "approve", "--hash", digest]).ok();
}

fn names(env: &TestEnv, dir: &Path) -> Vec<String> {
    let servers = at(env, dir, &["servers", "--json"]).ok().json();
    let names = servers.as_array().unwrap().iter();
    names
        .map(|s| s["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn project_servers_start_only_after_approval_and_only_in_the_project() {
    let env = TestEnv::with_fixtures(&[("mine", &[])]);
    let mark = env.path("ran");
    let root = project(&env, "shop", &json!({ "db": fixture(&env, "db") }));
    let toml = format!(
        "[servers.told]\ncommand = {:?}\nenv = {{ TOKEN = \"${{cmd:echo x >> {}; echo t}}\" }}\nstart = \"eager\"\n",
        binary("mux-fixture-server"),
        mark.display()
    );
    fs::write(root.join(".mux.toml"), toml).unwrap();
    let deep = root.join("src/deep");

    assert_eq!(names(&env, &deep), ["mine"]);
    mux_snapshot!(at(&env, &deep, &["servers"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    SERVER  STATE  WHO  TOOLS  START  CALLS  PID  SHARE  COMMAND
    mine    cold   -    -      -      0      -    user   [BIN]/mux-fixture-server --pid-file [HOME]/mine.pids
    ----- stderr -----
    warning: .mux.toml and .mcp.json in [HOME]/shop define `db`, `told`, and are not approved; see `mux project show`, then `mux project approve`
    ");
    mux_snapshot!(at(&env, &deep, &["status"]).ok().stderr, @"warning: .mux.toml and .mcp.json in [HOME]/shop define `db`, `told`, and are not approved; see `mux project show`, then `mux project approve`");
    mux_snapshot!(at(&env, &deep, &["call", "db.pid"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `db`
      hint: `db` is defined in .mcp.json of this project, which you have not approved: mux project approve
    ");
    let run = at(&env, &deep, &["run", "-e", "return await mux.db.pid()"]);
    mux_snapshot!(run, @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `db`
      --> program:1:8
      1 | return await mux.db.pid()
        |        ^
      hint: `db` is defined in .mcp.json of this project, which you have not approved: mux project approve
    ");
    assert!(!mark.exists() && env.starts("db").is_empty());

    mux_snapshot!(at(&env, &deep, &["project", "show"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    ~/shop  not approved

      db  .mcp.json
        runs     [BIN]/mux-fixture-server --pid-file [HOME]/db.pids --name db
        env      WHERE

      told  .mux.toml
        runs     [BIN]/mux-fixture-server
        and runs echo x >> [HOME]/ran; echo t
        env      TOKEN

    --- .mux.toml
    +++ .mux.toml
    @@ -0,0 +1,4 @@
    +[servers.told]
    +command = "[BIN]/mux-fixture-server"
    +env = { TOKEN = "${cmd:echo x >> [HOME]/ran; echo t}" }
    +start = "eager"

    --- .mcp.json
    +++ .mcp.json
    @@ -0,0 +1,16 @@
    +{
    +  "mcpServers": {
    +    "db": {
    +      "command": "[BIN]/mux-fixture-server",
    +      "args": [
    +        "--pid-file",
    +        "[HOME]/db.pids",
    +        "--name",
    +        "db"
    +      ],
    +      "env": {
    +        "WHERE": "${PWD:-nowhere}"
    +      }
    +    }
    +  }
    +}

    digest [DIGEST]
    to approve exactly this: mux project approve --hash [DIGEST] ~/shop
    ----- stderr -----
    "#);
    mux_snapshot!(at(&env, &deep, &["project", "approve"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: cannot ask for confirmation here
      hint: run `mux project show`, then pass the digest it shows: --hash DIGEST
    ");
    let wrong = "0123456789abcdef0123456789abcdef";
    mux_snapshot!(at(&env, &deep, &["project", "approve", "--hash", wrong]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the files in [HOME]/shop do not match this digest
      hint: see `mux project show`
    ");
    approve(&env, &root);
    assert_eq!(names(&env, &deep), ["db", "mine", "told"]);
    let cwd = at(&env, &deep, &["call", "db.cwd"]).ok().stdout;
    assert_eq!(Path::new(cwd.trim()), fs::canonicalize(&root).unwrap());
    at(&env, &deep, &["call", "told.pid"]).ok();
    assert!(mark.exists());
    let run = at(
        &env,
        &deep,
        &["run", "-e", "return Object.keys(mux).includes('db')"],
    );
    assert_eq!(run.ok().stdout.trim(), "true");

    // Outside the project its servers do not exist.
    assert_eq!(names(&env, env.home()), ["mine"]);
    mux_snapshot!(env.mux(["call", "db.pid"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `db`
      hint: known servers: mine
    ");
    mux_snapshot!(env.mux(["servers", "restart", "db"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `db`
      hint: known servers: mine
    ");
    assert_eq!(env.result("return Object.keys(mux).includes('db')"), false);
    assert!(!env.mux(["tools"]).ok().stdout.contains("db."));
    assert!(!env.mux(["types"]).ok().stdout.contains("db:"));
    assert_eq!(env.mux(["status"]).ok().stderr, "");
}

#[test]
fn changed_project_loses_approval_and_its_servers_end() {
    let env = TestEnv::new();
    let root = project(&env, "shop", &json!({ "db": fixture(&env, "db") }));
    let good = fs::read_to_string(root.join(".mcp.json")).unwrap();
    approve(&env, &root);
    at(&env, &root, &["call", "db.pid"]).ok();
    let pid = env.starts("db")[0];
    // The daemon notices the change although no client works in the project.
    let evil = good.replace("--name", "--evil");
    fs::write(root.join(".mcp.json"), &evil).unwrap();
    assert!(
        process::wait_for_end(pid, Duration::from_secs(30)),
        "{pid} lives on"
    );
    mux_snapshot!(at(&env, &root, &["project", "show"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    ~/shop  changed since it was approved

      db  .mcp.json
        runs     [BIN]/mux-fixture-server --pid-file [HOME]/db.pids --evil db
        env      WHERE

    --- .mcp.json
    +++ .mcp.json
    @@ -6,5 +6,5 @@
             "--pid-file",
             "[HOME]/db.pids",
    -        "--name",
    +        "--evil",
             "db"
           ],

    digest [DIGEST]
    to approve exactly this: mux project approve --hash [DIGEST] ~/shop
    ----- stderr -----
    "#);
    mux_snapshot!(at(&env, &root, &["call", "db.pid"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `db`
      hint: `db` is defined in .mcp.json of this project, which you have not approved: mux project approve
    ");
    // The approved content is approved again without asking.
    fs::write(root.join(".mcp.json"), &good).unwrap();
    let call = || at(&env, &root, &["call", "db.pid"]).code;
    until("a server again", call, |code| *code == 0);
    let list = at(&env, &root, &["project", "--json"]).ok().json();
    assert_eq!(list[0]["state"], "approved");
    // An approval survives the daemon, and can be revoked.
    env.stop();
    assert_eq!(names(&env, &root), ["db"]);
    at(&env, &root, &["call", "db.pid"]).ok();
    at(&env, &root, &["project", "revoke"]).ok();
    let last = *env.starts("db").last().unwrap();
    assert!(process::wait_for_end(last, Duration::from_secs(30)));
    assert_eq!(names(&env, &root), Vec::<String>::new());
}

#[test]
fn projects_can_share_server_names_and_user_config_wins() {
    let env = TestEnv::with_fixtures(&[("web", &[])]);
    let [one, two] = ["one", "two"].map(|name| {
        let servers = json!({ "db": fixture(&env, name), "web": fixture(&env, "never") });
        let root = project(&env, name, &servers);
        approve(&env, &root);
        root
    });
    let mut statuses = Vec::new();
    for (root, name) in [(&one, "one"), (&two, "two")] {
        let info = at(&env, root, &["servers", "restart", "db", "--json"])
            .ok()
            .json();
        assert!(
            info["identity"].as_str().unwrap().starts_with(name),
            "{info:#}"
        );
        assert!(
            info["project"].as_str().unwrap().ends_with(name),
            "{info:#}"
        );
        let pid = at(&env, root, &["call", "db.pid"]).ok().stdout;
        assert_eq!(pid.trim(), env.starts(name)[0].to_string());
        at(&env, root, &["call", "web.pid"]).ok();
        statuses.push(at(&env, root, &["status"]).ok().stderr);
    }
    mux_snapshot!(statuses.concat(), @"
    warning: `web` of .mcp.json in [HOME]/one is not used: [servers.web] of config.toml has the same name
    warning: `web` of .mcp.json in [HOME]/two is not used: [servers.web] of config.toml has the same name
    ");
    assert_eq!(env.starts("never").len(), 0);
    assert_eq!(env.starts("web").len(), 1);
    assert!(process::is_alive(env.starts("one")[0]));
}

#[test]
fn project_rules_can_deny_but_not_allow() {
    let env = TestEnv::new();
    let rule = "[[policy]]\nmatch = \"fix.pid\"\naction = \"deny\"\n";
    env.write_config(&(env.fixture("fix", &[]) + rule));
    let root = env.path("shop");
    fs::create_dir(&root).unwrap();
    fs::write(
        root.join(".mux.toml"),
        "[[policy]]\nmatch = \"fix.pid\"\naction = \"allow\"\n[[policy]]\nmatch = \"fix.echo\"\naction = \"deny\"\n[limits]\nwall = \"1s\"\n",
    )
    .unwrap();
    approve(&env, &root);
    mux_snapshot!(at(&env, &root, &["call", "fix.pid"]), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.pid is denied by the policy "fix.pid"
      hint: it is rule 1 of [[policy]] in config.toml; see `mux policy explain fix.pid`
    "#);
    mux_snapshot!(at(&env, &root, &["call", "fix.echo", "text=x"]), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.echo is denied by the policy "fix.echo" of the project in [HOME]/shop
      hint: it is rule 1 of [[policy]] of [HOME]/shop/.mux.toml; see `mux policy explain fix.echo`
    "#);
    env.mux(["call", "fix.echo", "text=x"]).ok();
    mux_snapshot!(at(&env, &root, &["status"]).ok().stderr, @r#"
    warning: .mux.toml: `limits` is ignored: a project may only define [servers] and deny by [[policy]]
    warning: .mux.toml: the policy "fix.pid" is ignored: a project may deny, and not allow
    "#);
}

const DENIES: &str = "[[policy]]\nmatch = \"fix.echo\"\naction = \"deny\"\n";

#[test]
fn approved_deny_rules_stay_in_force_when_the_file_changes() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let root = env.path("shop");
    let deep = root.join("src/deep");
    let file = root.join(".mux.toml");
    fs::create_dir_all(&deep).unwrap();
    fs::write(&file, DENIES).unwrap();
    approve(&env, &root);
    let echo = |dir: &Path| at(&env, dir, &["call", "fix.echo", "text=x"]);
    let rule_origins = |dir: &Path| {
        let explained = at(&env, dir, &["policy", "explain", "fix.echo"]).ok();
        assert!(explained.stdout.contains("deny"), "{explained:#?}");
        explained.stdout
    };
    mux_snapshot!(echo(&deep), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.echo is denied by the policy "fix.echo" of the project in [HOME]/shop
      hint: it is rule 1 of [[policy]] of [HOME]/shop/.mux.toml; see `mux policy explain fix.echo`
    "#);
    assert!(!rule_origins(&deep).contains("as you approved it"));

    let clear = || {
        drop(fs::remove_file(&file));
        drop(fs::remove_dir(&file));
    };
    let edits: [(&str, &dyn Fn()); 8] = [
        ("another line end", &|| {
            fs::write(&file, format!("{DENIES}\n")).unwrap();
        }),
        ("another rule", &|| {
            fs::write(&file, DENIES.replace("echo", "add")).unwrap();
        }),
        ("empty", &|| fs::write(&file, "").unwrap()),
        ("no TOML", &|| fs::write(&file, "[[policy").unwrap()),
        ("no text", &|| fs::write(&file, b"\xff").unwrap()),
        ("gone", &|| {}),
        ("a directory", &|| fs::create_dir(&file).unwrap()),
        ("a link to nothing", &|| {
            std::os::unix::fs::symlink("nowhere", &file).unwrap();
        }),
    ];
    let mut transcript = CommandTranscript::default();
    for (what, edit) in edits {
        clear();
        edit();
        for dir in [&root, &deep] {
            let denied = echo(dir).fails(5, &["as you approved it"]);
            assert!(
                denied.stderr.contains("fix.echo is denied"),
                "{what}: {denied:#?}"
            );
            assert!(
                rule_origins(dir).contains("1 of the project, as you approved it"),
                "{what}"
            );
        }
        for args in [&["project", "show"][..], &["project"], &["status"]] {
            let mut output = at(&env, &deep, args).ok();
            if args[0] == "status" {
                output.stdout.clear();
            }
            transcript.add(format!("mux {}, of {what}", args.join(" ")), &output);
        }
    }
    mux_snapshot!("denied_by_approved_text", transcript);
    clear();
    // Project files in a subfolder do not override it.
    fs::create_dir(deep.join(".git")).unwrap();
    mux_snapshot!(echo(&deep), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.echo is denied by the policy "fix.echo" of the project in [HOME]/shop
      hint: it is rule 1 of [[policy]] of [HOME]/shop/.mux.toml as you approved it; see `mux policy explain fix.echo`
    "#);
    fs::write(deep.join(".mcp.json"), "{}").unwrap();
    mux_snapshot!(echo(&deep), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.echo is denied by the policy "fix.echo" of the project in [HOME]/shop
      hint: it is rule 1 of [[policy]] of [HOME]/shop/.mux.toml as you approved it; see `mux policy explain fix.echo`
    "#);
    // The approval survives the daemon, and applies nowhere else.
    env.stop();
    mux_snapshot!(echo(&root), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.echo is denied by the policy "fix.echo" of the project in [HOME]/shop
      hint: it is rule 1 of [[policy]] of [HOME]/shop/.mux.toml as you approved it; see `mux policy explain fix.echo`
    "#);
    env.mux(["call", "fix.echo", "text=x"]).ok();
    at(&env, &root, &["project", "revoke"]).ok();
    echo(&root).ok();
    echo(&deep).ok();
}

#[test]
fn project_deny_rules_apply_without_approval_and_after_a_move() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let root = env.path("shop");
    let moved = env.path("moved");
    fs::create_dir(&root).unwrap();
    let mistake = "[[policy]]\nmatch = \"fix.add\"\naction = \"dney\"\n";
    let file = root.join(".mux.toml");
    fs::write(
        &file,
        format!("{DENIES}{mistake}[servers.db]\ncommand = \"x\"\n"),
    )
    .unwrap();
    let echo = |dir: &Path| at(&env, dir, &["call", "fix.echo", "text=x"]);
    mux_snapshot!(echo(&root), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.echo is denied by the policy "fix.echo" of the project in [HOME]/shop
      hint: it is rule 1 of [[policy]] of [HOME]/shop/.mux.toml, which you have not approved; see `mux policy explain fix.echo`
    "#);
    mux_snapshot!(at(&env, &root, &["call", "fix.add", "a=1", "b=2"]), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.add is denied by the policy "fix.add" of the project in [HOME]/shop
      hint: rule 2 of [[policy]] of [HOME]/shop/.mux.toml, which you have not approved cannot be understood and therefore denies: action "dney" is none of allow, ask, deny
    "#);
    assert_eq!(names(&env, &root), ["fix"]);
    mux_snapshot!(at(&env, &root, &["policy", "explain", "fix.echo"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    fix.echo  deny  by rule 1 of the project, not approved
      the tool declares read_only = true
      decides  rule 1 of the project, not approved  deny fix.echo
               all conditions are met
    ----- stderr -----
    ");
    mux_snapshot!(at(&env, &root, &["project", "show"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    ~/shop  not approved

      db  .mux.toml
        runs     x

      denies fix.echo  (approved or not)

      denies fix.add  (approved or not)

    --- .mux.toml
    +++ .mux.toml
    @@ -0,0 +1,8 @@
    +[[policy]]
    +match = "fix.echo"
    +action = "deny"
    +[[policy]]
    +match = "fix.add"
    +action = "dney"
    +[servers.db]
    +command = "x"

    digest [DIGEST]
    to approve exactly this: mux project approve --hash [DIGEST] ~/shop
    ----- stderr -----
    "#);
    approve(&env, &root);
    fs::rename(&root, &moved).unwrap();
    mux_snapshot!(echo(&moved), @r#"
    success: false
    exit_code: 5
    ----- stdout -----
    ----- stderr -----
    error[denied]: fix.echo is denied by the policy "fix.echo" of the project in [HOME]/moved
      hint: it is rule 1 of [[policy]] of [HOME]/moved/.mux.toml, which you have not approved; see `mux policy explain fix.echo`
    "#);
}

#[test]
fn new_project_deny_rule_applies_to_a_running_program() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let root = env.path("shop");
    fs::create_dir(&root).unwrap();
    fs::write(root.join(".mux.toml"), "").unwrap();
    let code = "for (;;) {\n\
        try { await mux.fix.echo({ text: 'x' }) } catch (error) { return error.kind }\n\
        console.log('allowed'); await mux.fix.sleep({ ms: 50 }) }";
    let mut command = env.command("mux");
    command.current_dir(&root).args(["run", "-e", code]);
    let mut run = mux_tests::Running::start(&mut command);
    run.wait_for("allowed");
    fs::write(root.join(".mux.toml"), DENIES).unwrap();
    assert_eq!(run.wait().ok().stdout.trim(), "denied");
}

#[test]
fn project_approvals_file_that_others_can_write_is_ignored() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    let root = project(&env, "shop", &json!({ "db": fixture(&env, "db") }));
    approve(&env, &root);
    env.stop();
    let file = env.dirs.state.join("projects.json");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let good = fs::read(&file).unwrap();
    fs::write(&file, b"{\"version\": 1, \"projects\": {").unwrap();
    assert_eq!(names(&env, &root), Vec::<String>::new());
    mux_snapshot!(at(&env, &root, &["status"]).ok().stderr, @"
    warning: [HOME]/state/projects.json is corrupt (EOF while parsing an object at line 1 column 28); no project is approved, and the next approval replaces the file
    warning: .mcp.json in [HOME]/shop defines `db`, and is not approved; see `mux project show`, then `mux project approve`
    ");
    approve(&env, &root);
    assert_eq!(names(&env, &root), ["db"]);
    env.stop();
    fs::write(&file, good).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(names(&env, &root), Vec::<String>::new());
    mux_snapshot!(at(&env, &root, &["status"]).ok().stderr, @"
    warning: cannot use [HOME]/state/projects.json: others may write to it: chmod 600; no project is approved, and the next approval replaces the file
    warning: .mcp.json in [HOME]/shop defines `db`, and is not approved; see `mux project show`, then `mux project approve`
    ");
}

#[test]
fn project_file_that_a_stranger_could_have_written_denies_nothing_and_is_named() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let shared = env.path("shared");
    let mine = shared.join("mine");
    fs::create_dir_all(&mine).unwrap();
    let file = shared.join(".mux.toml");
    fs::write(&file, DENIES).unwrap();
    let call = || at(&env, &mine, &["call", "fix.echo", "text=x"]);
    let note = |expected: &str| {
        let status = at(&env, &mine, &["status"]).ok().stderr.clone();
        assert!(
            status.contains("is ignored: ") && status.contains(expected),
            "{status}"
        );
    };
    call().fails(5, &["denied"]);
    // As in /tmp: every user may create files here.
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    call().ok();
    note("every user may write to it");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
    call().fails(5, &["denied"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    call().ok();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    // Only an administrator can give files away.
    if chown(&file, Some(65534), None).is_ok() && nix::unistd::geteuid().as_raw() != 65534 {
        call().ok();
        note("it belongs to another user");
    }
}
