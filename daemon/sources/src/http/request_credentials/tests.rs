//! The credentials that are sent, and where.

use super::*;

fn keys(given: &[(&str, SourceCredential)], own: &[(&'static str, &'static str)]) -> CredentialSet {
    let schemes = [
        ("key", SecurityScheme::Header("X-Key".into())),
        ("query", SecurityScheme::Query("api key".into())),
        ("session", SecurityScheme::Cookie("sid".into())),
        ("login", SecurityScheme::Basic),
        ("token", SecurityScheme::Bearer),
    ];
    let own = own.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    CredentialSet::new(
        "shop",
        schemes
            .map(|(name, scheme)| (name.to_owned(), scheme))
            .into(),
        given
            .iter()
            .map(|(n, c)| ((*n).to_owned(), c.clone()))
            .collect(),
        own.collect(),
        |_, _, _| Err("none is fetched".into()),
    )
    .unwrap()
}

fn text(text: &str) -> SourceCredential {
    SourceCredential::Text(text.into())
}

fn lists(lists: &[&[&str]]) -> Vec<Vec<String>> {
    let list = |names: &&[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    lists.iter().map(list).collect()
}

#[test]
fn first_complete_alternative_is_picked_before_an_empty_one() {
    let keys = keys(&[("key", text("k")), ("login", text("u:p"))], &[]);
    for (security, picked) in [
        (&[][..], Some(&[][..])),
        (
            &[&["token"][..], &["key", "login"]],
            Some(&["key", "login"]),
        ),
        (&[&[], &["key"]], Some(&["key"])),
        (&[&["token"], &[]], Some(&[])),
        (&[&["key", "token"]], None),
        (&[&["unknown"]], None),
    ] {
        let security = lists(security);
        let found = keys.pick(&security);
        match picked {
            Some(picked) => assert_eq!(found.unwrap(), picked),
            None => assert!(matches!(found, Err(CallFailure::Credential { .. }))),
        }
    }
    let all = [
        lists(&[&["token"]]),
        lists(&[&["key"]]),
        lists(&[&["query"], &["token"]]),
    ];
    let wanting = keys.wanting(all.iter().map(Vec::as_slice));
    assert_eq!(wanting, ["query", "token"]);
}

#[test]
fn missing_credential_error_proposes_the_configuration_line() {
    let Err(CallFailure::Credential { why, fix }) = keys(&[], &[])
        .pick(&lists(&[&["token"], &["login"]]))
        .map(<[String]>::to_vec)
    else {
        panic!("it was picked");
    };
    assert!(why.contains("`token` or `login`"), "{why}");
    assert_eq!(
        fix,
        "in [sources.shop] of config.toml: auth = { token = \"${SHOP_TOKEN}\" }"
    );
}

#[test]
fn header_of_the_entry_can_be_the_credential() {
    let keys = keys(&[], &[("authorization", "Bearer x"), ("x-key", "y")]);
    for name in ["token", "login", "key"] {
        assert!(keys.pick(&lists(&[&[name]])).is_ok(), "{name}");
    }
    assert!(keys.pick(&lists(&[&["query"]])).is_err());
}

#[test]
fn unused_credentials_are_reported() {
    let pair = SourceCredential::Basic {
        username: "u".into(),
        password: "p".into(),
    };
    let keys = keys(
        &[("kee", text("k")), ("token", pair), ("login", text("x"))],
        &[],
    );
    let idle: Vec<String> = keys.idle().iter().map(ToString::to_string).collect();
    assert_eq!(idle.len(), 3, "{idle:?}");
    assert!(
        idle[0].contains("auth.kee") && idle[0].contains("key, login"),
        "{idle:?}"
    );
    assert!(idle[1].contains("username"), "{idle:?}");
    assert!(idle[2].contains("auth.token must be a string"), "{idle:?}");
}

#[tokio::test]
async fn each_credential_is_sent_in_its_place() {
    let keys = keys(
        &[
            ("key", text("k1")),
            ("query", text("a b&c")),
            ("session", text("s1")),
            ("login", text("u:p")),
        ],
        &[],
    );
    let names = ["key", "query", "session", "login"].map(str::to_owned);
    let shown = keys.show(&names).await.unwrap();
    assert_eq!(shown.headers["x-key"], "k1");
    assert_eq!(shown.query, [("api+key".to_owned(), "a+b%26c".to_owned())]);
    assert_eq!(shown.cookies, [("sid".to_owned(), "s1".to_owned())]);
    assert_eq!(shown.headers[AUTHORIZATION], "Basic dTpw");
    assert!(!format!("{shown:?}{keys:?}").contains("k1"), "{shown:?}");
}
