//! `mux secrets`: the secrets that entries name as `${keyring:NAME}`.
//!
//! Invariant: a value is read from the terminal without echo, or from standard input, and only sent to the daemon.

mod prompt;

use std::{
    io::{self, IsTerminal as _, Read as _},
    process::ExitCode,
    thread,
};

use mux_client::{Session, within_seconds};
use mux_proto::{Error, Kind, SecretText, SetSecretRequest};
use tokio::sync::oneshot;

use super::{Failure, Outcome, ask, interrupted, session};
use crate::{args, args::SecretsCommand, exit, render};

/// Seconds. A keyring may ask the user to unlock it.
const PATIENCE: u64 = 60;
/// Maximum bytes read of a value, far more than the daemon accepts.
const LONGEST: u64 = 1 << 20;

pub(super) async fn secrets(args: args::Secrets, json: bool) -> Outcome {
    match args.command.unwrap_or(SecretsCommand::List) {
        SecretsCommand::List => list(json).await,
        SecretsCommand::Set { name } => set(name, json).await,
        SecretsCommand::Remove { name } => remove(name, json).await,
    }
}

async fn list(json: bool) -> Outcome {
    let question = async |session: &Session| {
        let answer = session.client.list_secrets(within_seconds(PATIENCE));
        answer
            .await
            .unwrap_or_else(|error| Err(mux_client::lost(error)))
    };
    let list = ask(question).await??;
    Ok(render::secrets(&list, json))
}

async fn set(name: String, json: bool) -> Outcome {
    let value = match io::stdin().is_terminal() {
        true => {
            let shown = name.clone();
            let (told, typed) = oneshot::channel();
            // The thread is not joined: it may still read when the command ends.
            thread::spawn(move || told.send(prompt::typed(&shown)));
            tokio::select! {
                typed = typed => typed.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())),
                () = interrupted() => {
                    prompt::restore();
                    return Ok(ExitCode::from(exit::code(&Kind::Cancelled)));
                }
            }
        }
        false => piped(),
    };
    let value = value.map_err(|error| {
        Error::new(Kind::Validation, format!("no value was read: {error}"))
            .hint("type it, or give it on standard input")
    })?;
    let request = SetSecretRequest {
        name,
        value: SecretText(value),
    };
    let session = session().await?;
    let answer = session.client.set_secret(within_seconds(PATIENCE), request);
    let info = answer.await?.map_err(Failure::from)?;
    Ok(render::secret_set(&info, json))
}

async fn remove(name: String, json: bool) -> Outcome {
    let session = session().await?;
    let answer = session.client.remove_secret(within_seconds(PATIENCE), name);
    let removed = answer.await?.map_err(Failure::from)?;
    if !removed.was_set {
        let message = format!("there is no secret {}", removed.name);
        return Err(Error::new(Kind::NotFound, message)
            .hint("`mux secrets` lists them")
            .into());
    }
    Ok(render::secret_removed(&removed, json))
}

/// All of standard input, without a line break at its end.
fn piped() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().take(LONGEST).read_to_string(&mut text)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}
