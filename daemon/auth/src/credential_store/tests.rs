//! Logins and named secrets across restarts, and a file that cannot be used.

use super::*;
use crate::login_record::tests::record;
use mux_secrets::Secret;

fn secrets(text: &str) -> LoginSecrets {
    LoginSecrets {
        refresh: Some(Secret::new(text)),
        ..LoginSecrets::default()
    }
}

#[tokio::test]
async fn login_survives_restart_and_is_replaced_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    let store = CredentialStore::open(path.clone(), false);
    let login = record(Some(60), 0);
    assert_eq!(store.find(&login.key, None), None);
    store.save(login.clone(), secrets("r1")).await.unwrap();
    store.save(login.clone(), secrets("r2")).await.unwrap();
    let again = CredentialStore::open(path, false);
    assert_eq!(again.find(&login.key, None), Some(login.clone()));
    assert_eq!(again.secrets(&login).await, Ok(Some(secrets("r2"))));
    let other = LoginKey {
        client: Some("mine".into()),
        ..login.key.clone()
    };
    assert_eq!(again.find(&other, None), None);
    again.forget(&login).await.unwrap();
    assert_eq!(again.find(&login.key, None), None);
}

#[tokio::test]
async fn logins_of_two_accounts_are_stored_separately_and_refused_by_older_builds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    let store = CredentialStore::open(path.clone(), false);
    let version = || {
        let text = std::fs::read_to_string(&path).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["version"].clone()
    };
    let unnamed = record(Some(60), 0);
    store.save(unnamed.clone(), secrets("r0")).await.unwrap();
    assert_eq!(version(), 2);
    let named = |account: &str| LoginRecord {
        key: LoginKey {
            account: Some(account.into()),
            ..unnamed.key.clone()
        },
        ..unnamed.clone()
    };
    let work = named("work");
    let own = named("own");
    store.save(work.clone(), secrets("r1")).await.unwrap();
    store.save(own.clone(), secrets("r2")).await.unwrap();
    assert_eq!(version(), 3);
    store.forget(&own).await.unwrap();
    let again = CredentialStore::open(path.clone(), false);
    assert_eq!(again.find(&own.key, None), None);
    for (login, secret) in [(unnamed, "r0"), (work, "r1")] {
        assert_eq!(again.secrets(&login).await, Ok(Some(secrets(secret))));
        assert_eq!(again.find(&login.key, None), Some(login));
    }
}

#[tokio::test]
async fn only_own_logins_of_the_same_client_and_account_are_shared_until_logout() {
    let folder = tempfile::tempdir().unwrap();
    let store = CredentialStore::open(folder.path().join("credentials.json"), false);
    let lender = record(Some(60), 0);
    let key = LoginKey {
        resource: "https://other.test/mcp".into(),
        ..lender.key.clone()
    };
    let borrower = LoginRecord {
        key: key.clone(),
        shares: Some(lender.id()),
        ..lender.clone()
    };
    store.save(lender.clone(), secrets("r")).await.unwrap();
    store.save(borrower.clone(), secrets("b")).await.unwrap();
    assert_eq!(store.lenders(&key, None), std::slice::from_ref(&lender));
    assert_eq!(
        store.lenders(&key, Some("https://issuer.test/")),
        std::slice::from_ref(&lender)
    );
    assert_eq!(store.lenders(&key, Some("https://else.test")), []);
    assert_eq!(
        store.lenders(&lender.key, None),
        [],
        "neither itself nor a borrower"
    );
    assert_eq!(
        store.borrowers(&lender.id()),
        std::slice::from_ref(&borrower)
    );
    for other in [
        LoginKey {
            account: Some("work".into()),
            ..key.clone()
        },
        LoginKey {
            client: Some("mine".into()),
            ..key.clone()
        },
        LoginKey {
            proof: Some("0".into()),
            ..key.clone()
        },
    ] {
        assert_eq!(store.lenders(&other, None), [], "{other:?}");
    }
    store.sign_out(&key).await.unwrap();
    assert_eq!(store.lenders(&key, None), []);
    let own = LoginRecord {
        shares: None,
        ..borrower
    };
    store.save(own, secrets("b")).await.unwrap();
    assert_eq!(store.lenders(&key, None), [lender]);
}

#[tokio::test]
async fn refresh_that_ends_after_a_logout_does_not_sign_in_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = CredentialStore::open(folder.path().join("credentials.json"), false);
    let lender = record(Some(60), 0);
    let mut shared = LoginRecord {
        shares: Some(lender.id()),
        ..lender.clone()
    };
    shared.key.resource = "https://other.test/mcp".into();
    store.save(lender.clone(), secrets("r")).await.unwrap();
    store.update(shared.clone(), secrets("b1")).await.unwrap();
    let signing_out = store.sign_out(&shared.key);
    let refreshed = store.update(shared.clone(), secrets("b2"));
    let forgetting = store.forget(&shared);
    signing_out.await.unwrap();
    assert!(matches!(refreshed.await, Err(AuthError::Required(_))));
    forgetting.await.unwrap();
    assert_eq!(store.find(&shared.key, None), None);
    assert_eq!(store.lenders(&shared.key, None), []);
    // The lender has not signed out.
    store.update(lender.clone(), secrets("r2")).await.unwrap();
    assert_eq!(store.secrets(&lender).await, Ok(Some(secrets("r2"))));
}

#[tokio::test]
async fn logins_of_two_issuers_are_stored_separately() {
    let folder = tempfile::tempdir().unwrap();
    let store = CredentialStore::open(folder.path().join("credentials.json"), false);
    let first = record(Some(60), 100);
    let moved = LoginRecord {
        issuer: "https://other.test".into(),
        ..record(Some(60), 0)
    };
    store.save(moved.clone(), secrets("r2")).await.unwrap();
    store.save(first.clone(), secrets("r1")).await.unwrap();
    assert_eq!(store.find(&first.key, None), Some(moved.clone()));
    assert_eq!(store.secrets(&first).await, Ok(Some(secrets("r1"))));
    assert_eq!(store.secrets(&moved).await, Ok(Some(secrets("r2"))));
}

#[cfg(unix)]
#[tokio::test]
async fn refused_file_is_not_overwritten_and_is_read_once_fixed() {
    use std::{fs, os::unix::fs::PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    let login = record(None, 0);
    let saved = CredentialStore::open(path.clone(), false).save(login.clone(), secrets("r1"));
    saved.await.unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let store = CredentialStore::open(path.clone(), false);
    assert_eq!(store.find(&login.key, None), None);
    let refused = store.save(login.clone(), secrets("r2")).await.unwrap_err();
    assert!(refused.to_string().contains("chmod 600"), "{refused}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(store.find(&login.key, None), Some(login.clone()));
    assert_eq!(store.problem(), None);
    assert_eq!(store.secrets(&login).await, Ok(Some(secrets("r1"))));
}

#[tokio::test]
async fn named_secrets_survive_restart_next_to_logins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    let store = CredentialStore::open(path.clone(), false);
    let login = record(Some(60), 0);
    assert_eq!(store.named("A").await, Err(SecretUnavailable::Unset));
    store.set("B", Secret::new("b")).await.unwrap();
    store.save(login.clone(), secrets("r1")).await.unwrap();
    store.set("A", Secret::new("a1")).await.unwrap();
    store.set("A", Secret::new("a2")).await.unwrap();
    let again = CredentialStore::open(path, false);
    assert_eq!(again.named("A").await, Ok(Secret::new("a2")));
    let names: Vec<String> = again.all_named().into_iter().map(|n| n.name).collect();
    assert_eq!(names, ["A", "B"]);
    assert!(again.remove("A").await.unwrap());
    assert!(!again.remove("A").await.unwrap());
    assert_eq!(again.named("A").await, Err(SecretUnavailable::Unset));
    assert_eq!(again.find(&login.key, None), Some(login));
}
