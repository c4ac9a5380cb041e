//! The output of `mux secrets`, which contains names only.

use super::terminal::{eprint, eprintln, println, report};
use comfy_table::{Cell, Color};
use mux_proto::{SecretInfo, SecretList, SecretPlace, SecretRemoved};

use super::{
    display_path, human_units, note,
    style::{NAME, paint},
    table::ListTable,
    warn,
};

pub(crate) fn secrets(list: &SecretList) {
    if list.secrets.is_empty() {
        eprintln!(
            "no secret is stored, and no entry uses one; `mux secrets set NAME` stores a secret, and \
             ${{keyring:NAME}} refers to it"
        );
    } else {
        let mut table = ListTable::new(["NAME", "KEPT", "SINCE", "USED BY"]).leaving_out(["SINCE"]);
        for secret in &list.secrets {
            let used = if secret.used_by.is_empty() {
                Cell::new("nothing").fg(Color::Yellow)
            } else {
                Cell::new(secret.used_by.join(", "))
            };
            table.add_row([
                Cell::new(&secret.name),
                place_cell(secret.place),
                Cell::new(
                    secret
                        .since_ms
                        .map_or_else(|| "-".into(), human_units::date_text),
                ),
                used,
            ]);
        }
        println!("{}", table.text());
    }
    for secret in list.secrets.iter().filter(|secret| secret.place.is_none()) {
        let name = &secret.name;
        warn(format!(
            "{name} is not set; set it with `mux secrets set {name}`"
        ));
    }
    if let Some(problem) = &list.problem {
        warn(problem);
    }
    if let Some(why) = &list.note {
        note(&format!(
            "the keyring is not used ({why}); new secrets go into {}",
            display_path(&list.file)
        ));
    }
}

fn place_cell(place: Option<SecretPlace>) -> Cell {
    match place {
        Some(SecretPlace::Keyring) => Cell::new("keyring"),
        Some(SecretPlace::File) => Cell::new("file"),
        None => Cell::new("missing").fg(Color::Red),
    }
}

/// Prints the prompt for a secret's value, which is not echoed.
pub(crate) fn ask_for_secret(name: &str) {
    eprint!("value of {} (not shown): ", paint(NAME, name));
}

pub(crate) fn secret_set(secret: &SecretInfo) {
    let kept = match secret.place {
        Some(SecretPlace::Keyring) => "in the keyring",
        _ => "in a file that only you can read",
    };
    report!("{} is stored {kept}", paint(NAME, &secret.name));
    match secret.used_by.as_slice() {
        [] => note(&format!(
            "no entry uses it yet: write ${{keyring:{}}} instead of the value",
            secret.name
        )),
        entries => report!("used by {}", entries.join(", ")),
    }
}

pub(crate) fn secret_removed(removed: &SecretRemoved) {
    report!("{} is removed", paint(NAME, &removed.name));
    if !removed.used_by.is_empty() {
        warn(format!(
            "{} cannot be used without it",
            removed.used_by.join(", ")
        ));
    }
}
