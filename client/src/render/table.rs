//! Tables of lists: one row for each item, columns two blanks apart.
//!
//! Invariant: on a terminal each row is one line, no wider than the terminal. Elsewhere, cells are not cut and no
//! column is left out, because other programs read whole rows.

use std::borrow::Cow;

use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, Width, presets};

/// The width of a terminal that does not report its own.
pub(super) const STANDARD_COLUMNS: u16 = 80;
const SEPARATOR_COLUMNS: u16 = 2;
/// The width up to which the column that is cut keeps its content while other columns can be left out.
const READABLE_COLUMNS: u16 = 16;

pub(super) struct ListTable {
    table: Table,
    header: Vec<&'static str>,
    /// The column that is cut first.
    cut: usize,
    /// The columns that narrow terminals leave out, in order.
    optional: Vec<usize>,
}

impl ListTable {
    /// A table in which the last column is cut.
    pub(super) fn new<const N: usize>(header: [&'static str; N]) -> Self {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            // No cell contains this delimiter, so cells are cut at a character and not at a word.
            .set_delimiter('\0')
            .set_header(header);
        Self {
            table,
            header: header.to_vec(),
            cut: N - 1,
            optional: Vec::new(),
        }
    }

    /// Cuts this column instead of the last one.
    pub(super) fn cutting(mut self, column: &str) -> Self {
        self.cut = self.index_of(column);
        self
    }

    /// Lets narrow terminals leave out these columns, in order.
    pub(super) fn leaving_out<const N: usize>(mut self, columns: [&str; N]) -> Self {
        self.optional = columns.map(|column| self.index_of(column)).to_vec();
        self
    }

    pub(super) fn add_row(&mut self, row: impl Into<Row>) {
        self.table.add_row(row);
    }

    /// The lines of the table, as wide as the terminal allows.
    pub(super) fn text(self) -> String {
        self.text_within(terminal_columns())
    }

    /// The lines of the table in at most this width.
    pub(super) fn text_within(mut self, width: Option<u16>) -> String {
        // Columns are separated, and not surrounded, by blanks.
        let last = self.header.len() - 1;
        for (index, column) in self.table.column_iter_mut().enumerate() {
            let right = if index == last { 0 } else { SEPARATOR_COLUMNS };
            column.set_padding((0, right));
        }
        if let Some(width) = width {
            self.fit(width);
        }
        let lines = self.table.lines();
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }

    fn fit(&mut self, width: u16) {
        let natural = self.table.column_max_content_widths();
        let shown = self.shown_columns(&natural, width);
        let mut widths = natural.clone();
        let mut excess = total(&widths, &shown).saturating_sub(width);
        let least = widths[self.cut].min(text_columns(self.header[self.cut]));
        let cut = excess.min(widths[self.cut] - least);
        widths[self.cut] -= cut;
        excess -= cut;
        while excess > 0 {
            let widest = shown.iter().copied().max_by_key(|index| widths[*index]);
            match widest.filter(|index| widths[*index] > 1) {
                Some(widest) => widths[widest] -= 1,
                None => break,
            }
            excess -= 1;
        }
        let last = shown.last().copied().unwrap_or_default();
        for (index, column) in self.table.column_iter_mut().enumerate() {
            if !shown.contains(&index) {
                column.set_constraint(ColumnConstraint::Hidden);
                continue;
            }
            let padding = if index == last { 0 } else { SEPARATOR_COLUMNS };
            let width = Width::Fixed(widths[index] + padding);
            column
                .set_padding((0, padding))
                .set_constraint(ColumnConstraint::Absolute(width));
        }
        let mut header = Row::from(self.header.clone());
        header.max_height(1);
        self.table.set_header(header);
        for row in self.table.row_iter_mut() {
            row.max_height(1);
        }
        // The constraints apply to arranged tables only.
        self.table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }

    /// The columns that remain. The cut column must stay readable.
    fn shown_columns(&self, natural: &[u16], width: u16) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..natural.len()).collect();
        let mut least = natural.to_vec();
        least[self.cut] = least[self.cut].min(READABLE_COLUMNS);
        for optional in &self.optional {
            if total(&least, &shown) <= width {
                break;
            }
            shown.retain(|index| index != optional);
        }
        shown
    }

    fn index_of(&self, column: &str) -> usize {
        let found = self.header.iter().position(|name| *name == column);
        debug_assert!(found.is_some(), "there is no column {column}");
        found.unwrap_or_default()
    }
}

/// The width of these columns and their separators.
fn total(widths: &[u16], shown: &[usize]) -> u16 {
    let columns = shown
        .iter()
        .fold(0_u16, |sum, index| sum.saturating_add(widths[*index]));
    let separators = shown.len().saturating_sub(1);
    let separators = u16::try_from(separators).unwrap_or(u16::MAX);
    columns.saturating_add(separators.saturating_mul(SEPARATOR_COLUMNS))
}

/// The width of a string with its colors.
pub(super) fn text_columns(text: &str) -> u16 {
    u16::try_from(console::measure_text_width(text)).unwrap_or(u16::MAX)
}

/// The width of the terminal that is standard output, or `None` if that is not a terminal.
pub(super) fn terminal_columns() -> Option<u16> {
    columns_of(&console::Term::stdout())
}

/// The width of a terminal, or `None` if it is not a terminal.
pub(super) fn columns_of(terminal: &console::Term) -> Option<u16> {
    let size = || terminal.size_checked().map(|(_, columns)| columns);
    terminal.is_term().then(|| match size() {
        None | Some(0) => STANDARD_COLUMNS,
        Some(columns) => columns,
    })
}

/// A line with its colors, cut to this width.
pub(super) fn cut_line(line: &str, width: Option<u16>) -> Cow<'_, str> {
    match width {
        Some(width) => console::truncate_str(line, width.into(), "\u{2026}"),
        None => line.into(),
    }
}

#[cfg(test)]
pub(in crate::render) mod tests {
    use super::*;
    use crate::render::style::{ERROR, paint};

    /// The width of the widest line.
    #[track_caller]
    pub(in crate::render) fn assert_fits(text: &str, rows: usize, width: u16) {
        assert_eq!(text.lines().count(), rows + 1, "{text}");
        for line in text.lines() {
            let columns = console::measure_text_width(line);
            assert!(columns <= width.into(), "{columns} columns: {line:?}");
        }
    }

    fn table() -> ListTable {
        let mut table =
            ListTable::new(["NAME", "STATE", "SIZE", "COMMAND"]).leaving_out(["SIZE", "STATE"]);
        let command = "run --with many words --and more of them";
        table.add_row(["files", "backing off", "12 KiB", command]);
        table.add_row(["  /tmp/data", "ready"]);
        table.add_row(["größe", "検索", "", "x"]);
        table
    }

    #[test]
    fn rows_are_whole_without_a_terminal() {
        let expected = "NAME         STATE        SIZE    COMMAND\n\
                        files        backing off  12 KiB  run --with many words --and more of them\n\
                        \u{20} /tmp/data  ready\n\
                        größe        検索                 x";
        assert_eq!(table().text_within(None), expected);
        assert_eq!(table().text_within(Some(120)), expected);
    }

    #[test]
    fn narrow_terminal_cuts_the_last_column_and_then_leaves_out_others() {
        for (width, lines) in [
            (
                60,
                [
                    "NAME         STATE        SIZE    COMMAND",
                    "files        backing off  12 KiB  run --with many words --a…",
                    "  /tmp/data  ready",
                    "größe        検索                 x",
                ],
            ),
            (
                44,
                [
                    "NAME         STATE        COMMAND",
                    "files        backing off  run --with many w…",
                    "  /tmp/data  ready",
                    "größe        検索         x",
                ],
            ),
            (
                30,
                [
                    "NAME         COMMAND",
                    "files        run --with many …",
                    "  /tmp/data",
                    "größe        x",
                ],
            ),
            (10, ["NAME  COM…", "fil…  run…", "  /…", "grö…  x"]),
        ] {
            let text = table().text_within(Some(width));
            assert_eq!(text.lines().collect::<Vec<_>>(), lines, "{width}");
        }
        for width in 1..100 {
            let text = table().text_within(Some(width));
            assert_fits(&text, 3, width.max(4));
        }
    }

    #[test]
    fn another_column_can_be_the_one_that_is_cut() {
        let mut table = ListTable::new(["SETTING", "VALUE", "FROM"]).cutting("VALUE");
        table.add_row(["a.b", &"v".repeat(100), "config.toml:12"]);
        let row = format!("a.b      {}…  config.toml:12", "v".repeat(14));
        assert_eq!(
            table.text_within(Some(40)).lines().nth(1),
            Some(row.as_str())
        );
    }

    #[test]
    fn line_is_cut_without_its_colors() {
        let line = format!("{} and more", paint(ERROR, "failed"));
        assert_eq!(cut_line(&line, None), line);
        assert_eq!(cut_line(&line, Some(15)), line);
        let cut = cut_line(&line, Some(10)).into_owned();
        assert_eq!(anstream::adapter::strip_str(&cut).to_string(), "failed an…");
        assert!(cut.contains(&paint(ERROR, "failed")), "{cut:?}");
    }
}
