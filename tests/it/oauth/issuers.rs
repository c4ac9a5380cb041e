//! A client that the user has registered is shown only to the authorization server where it is registered, even if the
//! MCP server names another one.

use std::fs;

use mux_proto::{Error, Kind};
use mux_tests::{Authority, TestEnv};

use super::{begin, client, home, sign_in};

const SECRET: &str = "canary-own-secret";

/// The MCP server `docs`, and the authorization server where its user has registered a client.
struct World {
    authority: Authority,
    /// A malicious authorization server. The server accepts the same client, so it would get the client's secret and
    /// tokens.
    rogue: Authority,
    port: u16,
}

impl World {
    fn new(secret: Option<&str>) -> Self {
        // A port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        let world = Self {
            authority: Authority::default(),
            rogue: Authority::default(),
            port,
        };
        for authority in [&world.authority, &world.rogue] {
            authority.change(|rules| rules.registration = false);
            let redirect = format!("http://127.0.0.1:{port}/callback");
            authority.preregister("mine", secret, &redirect);
        }
        world
    }

    fn oauth(&self, more: &str) -> String {
        format!(
            "oauth = {{ client_id = \"mine\", port = {}{more} }}",
            self.port
        )
    }

    fn issuer(&self) -> String {
        format!(", issuer = {:?}", self.authority.issuer())
    }

    /// Makes the MCP server name the malicious authorization server.
    fn turns(&self) {
        let rogue = self.rogue.issuer().to_owned();
        self.authority
            .change(|rules| rules.authority_at = Some(rogue));
    }

    fn rewrite(&self, env: &TestEnv, more: &str) {
        env.write_config(&self.authority.server("docs", &self.oauth(more)));
        env.mux(["reload"]).ok();
    }

    /// Asserts that the malicious server got no request, and that the hint has the line to configure it.
    fn refused(&self, error: &Error) {
        assert_eq!(error.kind, Kind::Denied, "{error:?}");
        assert!(error.message.contains(self.rogue.issuer()), "{error:?}");
        let line = format!("issuer = {:?}", self.rogue.issuer());
        assert!(error.hint.as_ref().unwrap().contains(&line), "{error:?}");
        for what in ["authorize", "look", "code", "refresh"] {
            assert_eq!(self.rogue.count(what), 0, "{what}");
        }
    }
}

fn secret() -> String {
    format!(", client_secret = {SECRET:?}")
}

#[tokio::test]
async fn oauth_client_secret_is_sent_only_to_the_configured_issuer() {
    let world = World::new(Some(SECRET));
    world.turns();
    let env = home(
        &world.authority,
        &world.oauth(&(secret() + &world.issuer())),
    );
    let session = client(&env).await;
    world.refused(&begin(&session).await.unwrap_err());
    // Without a configured issuer the secret is not sent to any issuer that was discovered.
    world.rewrite(&env, &secret());
    world.refused(&begin(&session).await.unwrap_err());
    assert!(!env.dirs.credentials().exists());
    // The user configures the other issuer.
    let theirs = format!("{}, issuer = {:?}", secret(), world.rogue.issuer());
    world.rewrite(&env, &theirs);
    let started = begin(&session).await.unwrap();
    assert_eq!(started.issuer, world.rogue.issuer());
}

#[tokio::test]
async fn oauth_issuer_of_the_first_login_is_remembered_across_restarts_and_logouts() {
    for secret in [Some(SECRET), None] {
        let world = World::new(secret);
        let more = secret.map_or_else(String::new, |_| self::secret());
        // A client id without a secret may be shown to the first issuer that is discovered.
        let first = match secret {
            Some(_) => more.clone() + &world.issuer(),
            None => String::new(),
        };
        let env = home(&world.authority, &world.oauth(&first));
        let (state, _) = sign_in(&client(&env).await).await;
        assert_eq!(state.tools, Some(3), "{state:?}");
        world.rewrite(&env, &more);
        env.mux(["servers", "logout", "docs"]).ok();
        env.stop();
        let remembered = fs::read_to_string(env.dirs.state.join("issuers.json")).unwrap();
        assert!(!remembered.contains(SECRET), "{remembered}");

        let session = client(&env).await;
        let (state, _) = sign_in(&session).await;
        assert_eq!(state.tools, Some(3), "{state:?}");
        world.turns();
        world.refused(&begin(&session).await.unwrap_err());
        env.mux(["servers", "logout", "docs"]).ok();
        world.refused(&begin(&session).await.unwrap_err());
        env.mux(["servers", "login", "docs", "--no-browser"])
            .fails(5, &[world.rogue.issuer(), "until now"]);
    }
}

#[tokio::test]
async fn oauth_issuer_is_taken_from_credentials_of_an_earlier_version() {
    let world = World::new(Some(SECRET));
    let env = home(
        &world.authority,
        &world.oauth(&(secret() + &world.issuer())),
    );
    sign_in(&client(&env).await).await;
    env.stop();
    // The older version stored only credentials.
    fs::remove_file(env.dirs.state.join("issuers.json")).unwrap();
    world.rewrite(&env, &secret());
    env.mux(["call", "docs.echo", "text=hello"]).ok();
    world.turns();
    let session = client(&env).await;
    world.refused(&begin(&session).await.unwrap_err());
    env.mux(["servers", "logout", "docs"]).ok();
    world.refused(&begin(&session).await.unwrap_err());
}

#[tokio::test]
async fn oauth_tokens_of_an_issuer_other_than_the_configured_one_are_not_used() {
    let world = World::new(None);
    let env = home(&world.authority, &world.oauth(""));
    sign_in(&client(&env).await).await;
    env.mux(["call", "docs.echo", "text=hello"]).ok();
    let calls = world.authority.count("call");
    world.rewrite(&env, ", issuer = \"https://elsewhere.example\"");
    env.mux(["call", "docs.echo", "text=hello"])
        .fails(5, &["auth_required"]);
    assert_eq!(world.authority.count("call"), calls);
}
