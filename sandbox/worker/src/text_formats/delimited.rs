//! CSV and TSV: the first line has the names of the columns, and each further line is an object of strings.

use std::collections::HashSet;

use csv::{Error, ErrorKind, ReaderBuilder, StringRecord};

use super::{
    ParseError,
    json_output::{JsonOutput, OutputTooLarge},
};

/// The lines after the first that must be table rows if no format was given.
const MAX_PROBED_ROWS: usize = 20;
/// The rows that tell a table with blanks after its commas from a letter.
const MIN_ROWS_WITH_BLANKS: usize = 3;

/// `;` if the line with the names has no comma.
pub(super) fn csv_delimiter(text: &str) -> u8 {
    let names = without_blank_lines(text).lines().next().unwrap_or_default();
    if !names.contains(',') && names.contains(';') {
        b';'
    } else {
        b','
    }
}

pub(super) fn parse(text: &str, delimiter: u8) -> Result<String, ParseError> {
    let mut rows = JsonOutput::default();
    let too_large = |OutputTooLarge| ParseError::at(text, 0, ParseError::too_large());
    let mut reader = reader(text, delimiter);
    let headers = reader.headers().map_err(|error| problem(text, &error));
    let names = headers?.clone();
    let mut seen = HashSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
        let problem = format!("two columns are named {name:?}");
        return Err(at_row(text, names.position(), problem));
    }
    rows.raw("[").map_err(too_large)?;
    let mut row = StringRecord::new();
    while reader
        .read_record(&mut row)
        .map_err(|error| problem(text, &error))?
    {
        write_row(&mut rows, &names, &row).map_err(too_large)?;
    }
    rows.end("]").map_err(too_large)?;
    Ok(rows.into_text())
}

/// Returns true if a text has several columns, no short line such as a sentence among its first rows, and is not only
/// a few lines with blanks after commas, such as a letter.
pub(super) fn is_table(text: &str, delimiter: u8) -> bool {
    let mut reader = reader(text, delimiter);
    let begins_with_blank = |cell: &str| cell.starts_with(char::is_whitespace);
    let has_blanks = |row: &StringRecord| row.iter().skip(1).any(begins_with_blank);
    let Ok(names) = reader.headers() else {
        return false;
    };
    let mut are_blanks = has_blanks(names);
    let has_columns = names.len() > 1;
    let mut row = StringRecord::new();
    let mut row_count = 0;
    while row_count < MAX_PROBED_ROWS {
        match reader.read_record(&mut row) {
            Ok(false) => break,
            Ok(true) => are_blanks |= has_blanks(&row),
            // A later row of another length is an error in the table.
            Err(error) => {
                let is_short = matches!(error.kind(), ErrorKind::UnequalLengths { len: 1, .. });
                if row_count == 0 || is_short {
                    return false;
                }
            }
        }
        row_count += 1;
    }
    let min_rows = if are_blanks { MIN_ROWS_WITH_BLANKS } else { 1 };
    has_columns && row_count >= min_rows
}

fn reader(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(without_blank_lines(text).as_bytes())
}

/// The text from its first non-blank line.
fn without_blank_lines(text: &str) -> &str {
    let blanks = &text[..text.len() - text.trim_start().len()];
    &text[blanks.rfind('\n').map_or(0, |end| end + 1)..]
}

fn write_row(
    rows: &mut JsonOutput,
    names: &StringRecord,
    row: &StringRecord,
) -> Result<(), OutputTooLarge> {
    rows.raw("{")?;
    for (name, value) in names.iter().zip(row) {
        rows.string(name)?;
        rows.raw(":")?;
        rows.string(value)?;
        rows.raw(",")?;
    }
    rows.end("}")?;
    rows.raw(",")
}

fn problem(text: &str, error: &Error) -> ParseError {
    let problem = match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("this row has {len} fields, and there are {expected_len} columns"),
        _ => error.to_string(),
    };
    at_row(text, error.position(), problem)
}

/// A problem of the row at a position of the reader, which may be before blank lines.
fn at_row(text: &str, position: Option<&csv::Position>, problem: String) -> ParseError {
    let table = without_blank_lines(text);
    let byte = position.map_or(0, csv::Position::byte);
    let byte = usize::try_from(byte).map_or(table.len(), |byte| byte.min(table.len()));
    let rest = table.get(byte..).unwrap_or_default();
    let row = rest.trim_start_matches(['\n', '\r']);
    let (line, _) = super::position(text, text.len() - row.len());
    ParseError {
        format: None,
        line,
        column: 1,
        problem,
    }
}
