//! Login by browser and by a pasted address, and logout.

use std::{fs, io, io::Write as _, os::unix::fs::PermissionsExt};

use mux_client::within_seconds;
use mux_proto::{Kind, LoginFinishRequest};
use mux_tests::{
    Authority, Running, TestEnv,
    authority::{Rules, browse, visit},
};

use super::{PATIENCE, begin, client, follow, home, info, outcome, sign_in, signed_in};

type Change = Box<dyn Fn(&mut Rules)>;

const ECHO: [&str; 3] = ["call", "docs.echo", "text=hello"];

#[test]
fn oauth_browser_login_survives_a_daemon_restart() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let hint = "mux servers login docs";
    env.mux(ECHO)
        .fails(5, &["auth_required", "not signed in", hint]);
    let info_before = info(&env);
    assert_eq!(info_before["auth"], "required", "{info_before:#}");
    let shown = env.mux(["servers"]).ok();
    assert!(shown.stdout.contains(hint), "{shown:#?}");
    env.mux(["doctor"]).fails(0, &[hint]);

    // The browser is a program that gets the address as its argument.
    let address = env.path("address");
    let made = nix::unistd::mkfifo(&address, nix::sys::stat::Mode::S_IRWXU);
    made.unwrap();
    let browser = env.path("browser.sh");
    fs::write(
        &browser,
        format!("#!/bin/sh\nprintf '%s' \"$1\" > {address:?}\n"),
    )
    .unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let login = env.begin([
        "servers",
        "login",
        "docs",
        "--browser",
        browser.to_str().unwrap(),
    ]);
    let (way, page) = browse(&fs::read_to_string(&address).unwrap());
    assert!(way[1].starts_with("http://127.0.0.1:"), "{way:?}");
    assert!(page.text.contains("signed in to docs"), "{page:?}");
    let said = login.wait().ok();
    let output = format!(
        "you will sign in at {}, which `docs` names",
        authority.issuer()
    );
    assert!(said.stderr.contains(&output), "{said:#?}");
    for part in [
        "signed in to docs",
        authority.issuer(),
        "allowed: read",
        "3 tools",
    ] {
        assert!(said.stdout.contains(part), "{said:#?}");
    }

    env.mux(ECHO).ok();
    let mode = fs::metadata(env.dirs.credentials())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    env.stop();
    assert_eq!(info(&env)["auth"], "signed_in");
    assert_eq!(env.mux(ECHO).ok().stdout, "hello\n");
    assert_eq!(
        (authority.count("register"), authority.count("code")),
        (1, 1)
    );

    let out = env.mux(["servers", "logout", "docs"]).ok();
    assert!(out.stdout.contains("revoked"), "{out:#?}");
    assert_eq!(authority.count("revoke"), 1);
    env.mux(ECHO).fails(5, &["auth_required", hint]);
    let out = env.mux(["servers", "logout", "docs"]).ok();
    assert!(out.stdout.contains("not signed in"), "{out:#?}");
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_server_that_is_added_names_its_login_command() {
    let authority = Authority::default();
    let env = TestEnv::new();
    let added = env.mux(["servers", "add", "docs", "--url", authority.url()]);
    let added = added.ok();
    assert!(
        added
            .stderr
            .contains("docs requires a login: `mux servers login docs`"),
        "{added:#?}"
    );
    assert_eq!(info(&env)["auth"], "required");
}

#[test]
fn oauth_login_works_with_a_pasted_redirect_address() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let (reader, mut writer) = io::pipe().unwrap();
    let mut command = env.command("mux");
    command
        .args(["servers", "login", "docs", "--paste"])
        .stdin(reader);
    let mut login = Running::start_as_is(&mut command);
    // The last line before it waits.
    login.wait_for("paste that page's address");
    let address = login.heard().lines().find(|line| line.starts_with("http"));
    let redirect = visit("GET", address.unwrap()).location.unwrap();
    writeln!(writer, "{redirect}").unwrap();
    let said = login.wait().ok();
    assert!(said.stdout.contains("signed in to docs"), "{said:#?}");
    env.mux(ECHO).ok();
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn oauth_redirect_with_wrong_state_is_rejected_and_the_right_one_still_works() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let session = client(&env).await;
    let started = begin(&session).await.unwrap();
    let redirect = visit("GET", &started.url).location.unwrap();
    let (forged, _) = redirect.split_once("state=").unwrap();
    let forged = format!("{forged}state=mine&code=stolen");
    assert_eq!(follow(&forged).await.1.status, 410);
    let finish = |redirect_url: &str| {
        let request = LoginFinishRequest {
            login: started.login.clone(),
            redirect_url: redirect_url.into(),
        };
        session
            .client
            .login_finish(within_seconds(PATIENCE), request)
    };
    for wrong in [&*forged, "not an address", "http://127.0.0.1:1/callback"] {
        let error = finish(wrong).await.unwrap().unwrap_err();
        assert_eq!(error.kind, Kind::Validation, "{error:?}");
    }
    let state = finish(&redirect).await.unwrap().unwrap();
    assert_eq!((state.pending, state.tools), (false, Some(3)), "{state:?}");
    assert_eq!(authority.count("code"), 1);
}

#[tokio::test]
async fn oauth_second_login_replaces_the_first() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let session = client(&env).await;
    let first = begin(&session).await.unwrap();
    let second = begin(&session).await.unwrap();
    assert_ne!(first.login, second.login);
    let error = outcome(&session, &first.login).await.unwrap_err();
    assert!(error.message.contains("replaced it"), "{error:?}");
    assert_ne!(follow(&first.url).await.1.status, 200);
    follow(&second.url).await;
    let state = outcome(&session, &second.login).await.unwrap();
    assert_eq!(state.scopes, ["read"]);
}

#[tokio::test]
async fn oauth_login_works_with_every_discovery_and_client_type() {
    let ways: Vec<(&str, Change)> = vec![
        ("a page of consent", Box::new(|rules| rules.consent = true)),
        (
            "a well-known address",
            Box::new(|rules| rules.points = false),
        ),
        ("OpenID", Box::new(|rules| rules.openid = true)),
        ("no iss", Box::new(|rules| rules.iss = None)),
        ("no lifetime", Box::new(|rules| rules.lifetime = None)),
        (
            "a client with a secret",
            Box::new(|rules| rules.client_secrets = true),
        ),
        (
            "a secret in the body",
            Box::new(|rules| {
                rules.client_secrets = true;
                rules.auth_methods = vec!["client_secret_post"];
            }),
        ),
    ];
    for (way, change) in ways {
        let authority = Authority::default();
        authority.change(|rules| change(rules));
        let env = home(&authority, "");
        let session = client(&env).await;
        let started = begin(&session).await.unwrap();
        if way == "a page of consent" {
            let redirect = visit("POST", &started.url).location.unwrap();
            follow(&redirect).await;
        } else {
            follow(&started.url).await;
        }
        let state = outcome(&session, &started.login).await.unwrap();
        assert_eq!(
            (state.tools, &state.problem),
            (Some(3), &None),
            "{way}: {state:?}"
        );
        // The same client can refresh.
        authority.expire();
        env.mux(ECHO).ok();
        assert_eq!(authority.count("refresh"), 1, "{way}");
        assert_eq!(authority.complaints(), Vec::<String>::new(), "{way}");
    }
}

#[test]
fn oauth_preregistered_client_is_used_with_its_port() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let authority = Authority::default();
    authority.change(|rules| {
        rules.registration = false;
        rules.auth_methods = vec!["client_secret_basic"];
    });
    let redirect = format!("http://127.0.0.1:{port}/callback");
    authority.preregister("mine", Some("canary-own-secret"), &redirect);
    let oauth = format!(
        "oauth = {{ client_id = \"mine\", client_secret = \"${{CLIENT_SECRET}}\", issuer = {:?}, port = {port}, scopes = [\"read\", \"write\"] }}",
        authority.issuer()
    );
    let env = home(&authority, &oauth);
    fs::write(env.dirs.env_file(), "CLIENT_SECRET=canary-own-secret\n").unwrap();
    signed_in(&env);
    authority.expire();
    assert_eq!(env.mux(["call", "docs.scopes"]).ok().stdout, "read write\n");
    let kept = fs::read_to_string(env.dirs.credentials()).unwrap();
    assert!(
        !kept.contains("canary-own-secret"),
        "it stands in the configuration already"
    );
    assert_eq!(authority.complaints(), Vec::<String>::new());

    let taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    let port = port.to_string();
    env.mux(["servers", "login", "docs", "--no-browser"])
        .fails(3, &["oauth.port", &port]);
    drop(taken);
}

#[test]
fn oauth_client_metadata_address_is_the_client_id_where_supported() {
    const DOCUMENT: &str = "https://client.test/muxd.json";
    let oauth = format!("oauth = {{ client_id = \"{DOCUMENT}\" }}");
    let authority = Authority::default();
    let env = home(&authority, &oauth);
    signed_in(&env);
    // The dynamically registered client can refresh, also after a restart.
    authority.expire();
    env.stop();
    assert_eq!(env.mux(ECHO).ok().stdout, "hello\n");
    let login = || -> serde_json::Value {
        let kept = fs::read_to_string(env.dirs.credentials()).unwrap();
        let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
        kept["logins"][0].clone()
    };
    let redirect = login()["redirect"].as_str().unwrap().to_owned();
    assert_eq!(
        (authority.count("register"), authority.count("refresh")),
        (1, 1)
    );

    // From now on metadata documents are read. The redirect port stays the same.
    authority.change(|rules| rules.metadata_documents = true);
    authority.preregister(DOCUMENT, None, &redirect);
    signed_in(&env);
    env.mux(ECHO).ok();
    assert_eq!(authority.count("register"), 1);
    assert_eq!(login()["client_id"], DOCUMENT);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn oauth_login_belongs_to_the_server_address_and_not_to_its_name() {
    let first = Authority::default();
    let second = Authority::default();
    let env = home(&first, "");
    let session = client(&env).await;
    sign_in(&session).await;
    env.mux(ECHO).ok();
    // The same name, another server: it must not see the first one's token.
    env.write_config(&second.server("docs", ""));
    env.mux(["reload"]).ok();
    env.mux(ECHO).fails(5, &["not signed in"]);
    assert_eq!(second.count("call"), 0);
    // The same server under another name: it is the same login.
    env.write_config(&first.server("other", ""));
    env.mux(["reload"]).ok();
    env.mux(["call", "other.echo", "text=hello"]).ok();
    assert_eq!(first.count("code"), 1);
}
