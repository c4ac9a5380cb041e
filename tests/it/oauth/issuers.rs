//! A client that the user has registered himself is shown to the authorization server where he has done so, whatever the
//! MCP server names today.

use std::fs;

use mux_proto::{Error, Kind};
use mux_tests::{Authority, TestEnv};

use super::{begin, client, home, sign_in};

const SECRET: &str = "canary-own-secret";

/// The MCP server `docs`, and the authorization server where its user has registered a client.
struct World {
    authority: Authority,
    /// That of somebody else. It accepts the same client, so that it would get all of it.
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

    /// The MCP server names somebody else's authorization server from now on.
    fn turns(&self) {
        let rogue = self.rogue.issuer().to_owned();
        self.authority
            .change(|rules| rules.authority_at = Some(rogue));
    }

    fn rewrite(&self, env: &TestEnv, more: &str) {
        env.write_config(&self.authority.server("docs", &self.oauth(more)));
        env.mux(["reload"]).ok();
    }

    /// Nobody is sent to the other one, and the line to write is named.
    fn refused(&self, error: &Error) {
        assert_eq!(error.kind, Kind::Denied, "{error:?}");
        assert!(error.message.contains(self.rogue.issuer()), "{error:?}");
        let line = format!("issuer = {:?}", self.rogue.issuer());
        assert!(error.hint.as_ref().unwrap().contains(&line), "{error:?}");
        for what in ["authorize", "code", "refresh"] {
            assert_eq!(self.rogue.count(what), 0, "{what}");
        }
    }
}

fn secret() -> String {
    format!(", client_secret = {SECRET:?}")
}

#[tokio::test]
async fn oauth_a_clients_secret_goes_to_the_issuer_of_its_entry_alone() {
    let world = World::new(Some(SECRET));
    world.turns();
    let env = home(
        &world.authority,
        &world.oauth(&(secret() + &world.issuer())),
    );
    let session = client(&env).await;
    world.refused(&begin(&session).await.unwrap_err());
    // Without an issuer nobody may see it, however it was found.
    world.rewrite(&env, &secret());
    world.refused(&begin(&session).await.unwrap_err());
    assert!(!env.dirs.credentials().exists());
    // By the user's word.
    let theirs = format!("{}, issuer = {:?}", secret(), world.rogue.issuer());
    world.rewrite(&env, &theirs);
    let started = begin(&session).await.unwrap();
    assert_eq!(started.issuer.as_deref(), Some(world.rogue.issuer()));
}

#[tokio::test]
async fn oauth_the_issuer_of_the_first_login_is_remembered_over_restarts_and_logouts() {
    for secret in [Some(SECRET), None] {
        let world = World::new(secret);
        let more = secret.map_or_else(String::new, |_| self::secret());
        // A client id alone may be shown to the first issuer that there is.
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
async fn oauth_a_login_of_an_earlier_version_says_which_issuer_it_was() {
    let world = World::new(Some(SECRET));
    let env = home(
        &world.authority,
        &world.oauth(&(secret() + &world.issuer())),
    );
    sign_in(&client(&env).await).await;
    env.stop();
    // That version has kept credentials and nothing else.
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
async fn oauth_tokens_of_another_issuer_than_that_of_the_entry_are_not_used() {
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
