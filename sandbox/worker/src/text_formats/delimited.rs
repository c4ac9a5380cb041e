//! CSV and TSV: the first line has the names of the columns, and each further line is an object of strings.

use std::collections::HashSet;

use csv::{Error, ErrorKind, ReaderBuilder, StringRecord};

use super::{
    Problem,
    json_output::{JsonOutput, OutputTooLarge},
};

/// The lines after the first that have to be rows of a table, where nobody says that it is one.
const MAX_PROBED_ROWS: usize = 20;

/// `;` if the line with the names has no comma.
pub(super) fn csv_delimiter(text: &str) -> u8 {
    let names = text.trim_start().lines().next().unwrap_or_default();
    if !names.contains(',') && names.contains(';') {
        b';'
    } else {
        b','
    }
}

pub(super) fn parse(text: &str, delimiter: u8) -> Result<String, Problem> {
    let mut rows = JsonOutput::default();
    let too_large = |OutputTooLarge| Problem::at(text, 0, Problem::too_large());
    let mut reader = reader(text, delimiter);
    let names = reader.headers().map_err(|error| problem(&error))?.clone();
    let mut seen = HashSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
        let line = names.position().map_or(1, csv::Position::line);
        return Err(at_line(line, format!("two columns are named {name:?}")));
    }
    rows.raw("[").map_err(too_large)?;
    let mut row = StringRecord::new();
    while reader
        .read_record(&mut row)
        .map_err(|error| problem(&error))?
    {
        write_row(&mut rows, &names, &row).map_err(too_large)?;
    }
    rows.end("]").map_err(too_large)?;
    Ok(rows.into_text())
}

/// True if a text has several columns, and no short line such as a sentence among its first rows.
pub(super) fn is_table(text: &str, delimiter: u8) -> bool {
    let mut reader = reader(text, delimiter);
    let has_columns = reader.headers().is_ok_and(|names| names.len() > 1);
    let mut row = StringRecord::new();
    let first = has_columns && reader.read_record(&mut row).is_ok_and(|is_row| is_row);
    // A later row of another length is a mistake in a table.
    first
        && (1..MAX_PROBED_ROWS).all(|_| match reader.read_record(&mut row) {
            Ok(_) => true,
            Err(error) => !matches!(error.kind(), ErrorKind::UnequalLengths { len: 1, .. }),
        })
}

fn reader(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(text.trim_start_matches(['\n', '\r']).as_bytes())
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

fn problem(error: &Error) -> Problem {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => at_line(
            line,
            format!("this row has {len} fields, and there are {expected_len} columns"),
        ),
        _ => at_line(line, error.to_string()),
    }
}

fn at_line(line: u64, problem: String) -> Problem {
    Problem {
        line: usize::try_from(line).unwrap_or(usize::MAX),
        column: 1,
        problem,
    }
}
