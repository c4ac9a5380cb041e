//! Tables with headers in a TOML document: where a new one goes, and what stays of a removed one.
//!
//! Invariant: a comment above a header belongs to the user, not to the table, and stays when the table goes.

use serde_json::Value;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::{super::config_document_error::ConfigDocumentError, section_table, to_inline_value};

/// Creates a table with these values.
pub(super) fn headed_table(entry: &Value) -> Table {
    let fields = entry.as_object().into_iter().flatten();
    fields
        .map(|(key, entry)| (key.as_str(), value(to_inline_value(entry))))
        .collect()
}

/// Adds a table to a section, after the section's other tables.
pub(super) fn add_table(
    document: &mut DocumentMut,
    section: &[&str],
    name: &str,
    mut table: Table,
) -> Result<(), ConfigDocumentError> {
    let is_inline = |depth: usize| {
        let above = find_item(document.as_item_mut(), &section[..depth]);
        above.is_some_and(|item| item.is_inline_table())
    };
    // A table within an inline table becomes inline.
    if !(1..=section.len()).any(is_inline) {
        place_last(&mut table, document, section);
    }
    section_table(document, section)?.insert(name, Item::Table(table));
    Ok(())
}

/// Adds a table to a list of tables, as its last item.
pub(super) fn push_table(document: &mut DocumentMut, list: &str, mut table: Table) {
    place_last(&mut table, document, &[list]);
    let items = document
        .entry(list)
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    if let Item::ArrayOfTables(items) = items {
        items.push(table);
    }
}

/// Adds a table to a list of tables, as its first item. The comment above the present first item stays with that
/// item, unless the comment is at the beginning of the file.
pub(super) fn insert_first_table(
    document: &mut DocumentMut,
    text: &str,
    list: &str,
    mut table: Table,
) {
    let Some(Item::ArrayOfTables(items)) = document.get_mut(list) else {
        return push_table(document, list, table);
    };
    if let Some(first) = items.get_mut(0) {
        let prefix = header_prefix(first);
        let lines = prefix.split_inclusive('\n').rev();
        let comment = lines.take_while(|line| line.trim_start().starts_with('#'));
        let comment: usize = comment.map(str::len).sum();
        let (above, comment) = if text.starts_with(&prefix) {
            (prefix.as_str(), "")
        } else {
            prefix.split_at(prefix.len() - comment)
        };
        table.decor_mut().set_prefix(above);
        table.set_position(first.position());
        first.decor_mut().set_prefix(format!("\n{comment}"));
    }
    items.insert(0, table);
}

/// Moves the comments above the headers of a removed item to the next header, or to the end of the document.
pub(super) fn keep_comments(document: &mut DocumentMut, mut removed: Item) {
    let mut prefixes = Vec::new();
    for_each_header(&mut removed, &mut |position, table| {
        prefixes.push((position, header_prefix(table)));
    });
    prefixes.retain(|(_, prefix)| !prefix.trim().is_empty());
    prefixes.sort_unstable();
    for (position, prefix) in prefixes.into_iter().rev() {
        let comments = format!("{}\n", prefix.trim_end());
        let mut next: Option<isize> = None;
        for_each_header(document.as_item_mut(), &mut |other, _| {
            if other > position {
                next = Some(next.map_or(other, |next| next.min(other)));
            }
        });
        if next.is_none() {
            let trailing = document.trailing().as_str().unwrap_or_default();
            document.set_trailing(format!("{comments}{trailing}"));
        }
        for_each_header(document.as_item_mut(), &mut |other, table| {
            if Some(other) == next {
                let prefix = header_prefix(table);
                table.decor_mut().set_prefix(format!("{comments}{prefix}"));
            }
        });
    }
}

pub(super) fn find_item<'a>(root: &'a mut Item, section: &[&str]) -> Option<&'a mut Item> {
    section
        .iter()
        .try_fold(root, |item, key| item.as_table_like_mut()?.get_mut(key))
}

/// Places a table after the other tables of a section, otherwise at the end of the document. Comments at the end of the
/// document are above it then.
fn place_last(table: &mut Table, document: &mut DocumentMut, section: &[&str]) {
    let end = last_position(document.as_item_mut());
    let siblings = find_item(document.as_item_mut(), section).and_then(last_position);
    let position = siblings.or(end);
    table.set_position(position);
    if position == end {
        let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
        let is_empty = end.is_none() && document.get_values().is_empty();
        let gap = if (is_empty && trailing.is_empty())
            || trailing == "\n"
            || trailing.ends_with("\n\n")
        {
            ""
        } else if trailing.is_empty() || trailing.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        table.decor_mut().set_prefix(format!("{trailing}{gap}"));
        document.set_trailing("");
    }
}

/// The position of the last table with a header in this item.
fn last_position(item: &mut Item) -> Option<isize> {
    let mut last = None;
    for_each_header(item, &mut |position, _| last = last.max(Some(position)));
    last
}

/// Calls `visit` with each table of the item that has a header, and with the header's position in the document.
fn for_each_header(item: &mut Item, visit: &mut dyn FnMut(isize, &mut Table)) {
    match item {
        Item::Table(table) => for_each_header_of(table, visit),
        Item::ArrayOfTables(tables) => {
            for table in tables.iter_mut() {
                for_each_header_of(table, visit);
            }
        }
        Item::None | Item::Value(_) => {}
    }
}

fn for_each_header_of(table: &mut Table, visit: &mut dyn FnMut(isize, &mut Table)) {
    if let Some(position) = table.position() {
        visit(position, table);
    }
    for (_, item) in table.iter_mut() {
        for_each_header(item, visit);
    }
}

fn header_prefix(table: &Table) -> String {
    super::raw_text(table.decor().prefix())
}
