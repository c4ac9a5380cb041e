//! `mux secrets`: the secrets that entries name as `${keyring:NAME}`.
//!
//! Invariant: a value is read from the terminal without echo, or from standard input, and only sent to the daemon.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
    thread,
};

use mux_client::within_seconds;
use mux_proto::{Error, Kind, SecretText, SetSecretRequest};
use tarpc::context::Context;
use tokio::sync::oneshot;

use super::{
    CommandResult, ask, connect_or_start, hidden_input, input::read_limited_text, wait_for_ctrl_c,
};
use crate::{args, args::SecretsCommand, render};

/// Maximum bytes read of a value, far more than the daemon accepts.
const MAX_SECRET_BYTES: u64 = 1 << 20;

pub(super) async fn secrets(args: args::SecretsArgs, json: bool) -> CommandResult {
    match args.command.unwrap_or(SecretsCommand::List) {
        SecretsCommand::List => list_secrets(json).await,
        SecretsCommand::Set { name } => set_secret(name, json).await,
        SecretsCommand::Remove { name } => remove_secret(name, json).await,
    }
}

/// A keyring may ask the user to unlock it.
fn within() -> Context {
    within_seconds(60)
}

async fn list_secrets(json: bool) -> CommandResult {
    let list = ask(async |client| client.list_secrets(within()).await).await?;
    Ok(render::show(&list, json, render::secrets))
}

async fn set_secret(name: String, json: bool) -> CommandResult {
    let value = if io::stdin().is_terminal() {
        let shown = name.clone();
        let (sender, typed) = oneshot::channel();
        // The thread is not joined: it may still read when the command ends.
        thread::spawn(move || sender.send(hidden_input::read_hidden_line(&shown)));
        tokio::select! {
            typed = typed => typed.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())),
            () = wait_for_ctrl_c() => {
                hidden_input::restore_echo();
                return Ok(ExitCode::from(Kind::Cancelled.exit_code()));
            }
        }
    } else {
        read_piped_secret()
    };
    let value = value.map_err(|error| {
        Error::new(Kind::Validation, format!("no value was read: {error}"))
            .hint("type it, or pass it on standard input")
    })?;
    let request = SetSecretRequest {
        name,
        value: SecretText(value),
    };
    let session = connect_or_start().await?;
    let info = session.client.set_secret(within(), request).await??;
    Ok(render::show(&info, json, render::secret_set))
}

async fn remove_secret(name: String, json: bool) -> CommandResult {
    let session = connect_or_start().await?;
    let removed = session.client.remove_secret(within(), name).await??;
    if !removed.was_set {
        let message = format!("there is no secret {}", removed.name);
        return Err(Error::new(Kind::NotFound, message)
            .hint("`mux secrets` lists them")
            .into());
    }
    Ok(render::show(&removed, json, render::secret_removed))
}

/// All of standard input, without a line break at its end.
fn read_piped_secret() -> io::Result<String> {
    let text = read_limited_text(io::stdin(), MAX_SECRET_BYTES)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}
