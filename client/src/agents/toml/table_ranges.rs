//! The byte ranges that tables with headers occupy in a TOML file.

use std::ops::Range;

use toml_edit::{Document, Item, Table};

/// The source with a table added to a section: after its last table, or at the end of the file.
pub(super) fn with_table(text: &str, section: &[&str], piece: &str) -> String {
    let mut at = text.len();
    if let Ok(document) = Document::parse(text) {
        let mut siblings = Vec::new();
        if let Some(found) = find_item(document.as_item(), section) {
            collect_item_ranges(text, found, &mut siblings);
        }
        let mut all = Vec::new();
        collect_item_ranges(text, document.as_item(), &mut all);
        if let Some(last) = siblings.iter().map(|block| block.end).max()
            && all.iter().any(|block| block.start >= last)
        {
            at = last;
        }
    }
    let (before, after) = text.split_at(at);
    let gap = match before.trim_end_matches([' ', '\t']) {
        "" => "",
        line if !line.ends_with('\n') => "\n\n",
        line if line.ends_with("\n\n") || line.ends_with("\n\r\n") => "",
        _ => "\n",
    };
    format!("{before}{gap}{piece}{after}")
}

/// The source with a table put before the first table of a list, and before the comment above that table, unless the
/// comment is at the beginning of the file.
pub(super) fn with_first_table(text: &str, list: &str, piece: &str) -> String {
    let mut blocks = Vec::new();
    if let Ok(document) = Document::parse(text)
        && let Some(found) = document.get(list)
    {
        collect_item_ranges(text, found, &mut blocks);
    }
    let Some(header) = blocks.iter().map(|block| block.start).min() else {
        return with_table(text, &[list], piece);
    };
    let mut at = header;
    for line in text[..header].split_inclusive('\n').rev() {
        if !line.trim_start().starts_with('#') {
            break;
        }
        at -= line.len();
    }
    if at == 0 {
        at = header;
    }
    let (before, after) = text.split_at(at);
    format!("{before}{piece}\n{after}")
}

/// The source with a table and its subtables removed, or `None` if the table has no header.
pub(super) fn without_table(text: &str, section: &[&str], name: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let table = find_item(document.as_item(), section)?
        .as_table_like()?
        .get(name)?;
    let mut blocks = Vec::new();
    collect_item_ranges(text, table, &mut blocks);
    blocks.sort_by_key(|block| block.start);
    if blocks.is_empty() {
        return None;
    }
    let mut rest = text.to_owned();
    for block in blocks.into_iter().rev() {
        rest.replace_range(block.clone(), "");
        // The blank line between this block and the previous one.
        let before = &rest[..block.start];
        let blank = ["\n\r\n", "\n\n"]
            .iter()
            .find(|end| before.ends_with(**end));
        if let Some(blank) = blank {
            let start = block.start - blank.len() + 1;
            rest.replace_range(start..block.start, "");
        }
    }
    Some(rest)
}

pub(super) fn find_item<'a>(root: &'a Item, section: &[&str]) -> Option<&'a Item> {
    section
        .iter()
        .try_fold(root, |item, key| item.as_table_like()?.get(key))
}

/// Collects the whole lines of each table, from its header to its last value.
fn collect_item_ranges(text: &str, item: &Item, blocks: &mut Vec<Range<usize>>) {
    match item {
        Item::Table(table) => collect_table_ranges(text, table, blocks),
        Item::ArrayOfTables(tables) => {
            for table in tables {
                collect_table_ranges(text, table, blocks);
            }
        }
        Item::None | Item::Value(_) => {}
    }
}

fn collect_table_ranges(text: &str, table: &Table, blocks: &mut Vec<Range<usize>>) {
    let header = table
        .span()
        .filter(|span| text[span.clone()].starts_with('['));
    if let Some(span) = header.filter(|_| !table.is_implicit() && !table.is_dotted()) {
        let start = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
        let last = values_end(table).max(span.end);
        let end = text[last..]
            .find('\n')
            .map_or(text.len(), |at| last + at + 1);
        blocks.push(start..end);
    }
    for (_, item) in table {
        collect_item_ranges(text, item, blocks);
    }
}

/// The end of the last of a table's own values.
fn values_end(table: &Table) -> usize {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        Item::Table(inner) if inner.is_dotted() => values_end(inner),
        _ => 0,
    });
    ends.max().unwrap_or(0)
}
