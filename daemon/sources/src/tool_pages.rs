//! A long tool list, as compressed pages of JSON.
//!
//! As parsed values, ten thousand tools take more memory than everything else that reading their description needs.
//!
//! Invariant: at most one page is unpacked at a time, unless a caller collects them.

use serde_json::Value;
use tracing::error;

use mux_files::gzip_text::GzipText;

/// The length at which a page ends, as JSON.
const PAGE_BYTES: usize = 512 << 10;
/// The longest page that is unpacked: one tool can be longer than a page.
const MAX_UNPACKED_PAGE_BYTES: usize = 1 << 30;

#[derive(Clone, Debug, Default)]
pub(crate) struct ToolPages(Vec<GzipText>);

/// Packs tools as they are made.
#[derive(Default)]
pub(crate) struct ToolPagesWriter {
    pages: Vec<GzipText>,
    /// The beginning of a JSON array.
    page: String,
}

impl ToolPages {
    /// The tools of a page, counted from 0. A nonexistent page is empty. A damaged page is empty, too, and logged.
    pub(crate) fn page(&self, index: usize) -> Vec<Value> {
        let Some(page) = self.0.get(index) else {
            return Vec::new();
        };
        unpack(page).unwrap_or_else(|why| {
            error!(page = index + 1, pages = self.0.len(), %why, "a page of a list of tools is damaged: its functions are missing");
            Vec::new()
        })
    }

    pub(crate) fn page_count(&self) -> usize {
        self.0.len()
    }

    /// All tools, page by page.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Value> {
        (0..self.0.len()).flat_map(|index| self.page(index))
    }

    /// Reallocates the pages, in the memory of the calling thread.
    pub(crate) fn settle(&mut self) {
        for page in &mut self.0 {
            if let Some(copy) = GzipText::from_bytes(page.bytes().to_vec()) {
                *page = copy;
            }
        }
    }
}

fn unpack(page: &GzipText) -> Result<Vec<Value>, String> {
    let text = page.read(MAX_UNPACKED_PAGE_BYTES);
    let text = text.ok_or("it cannot be unpacked")?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

impl ToolPagesWriter {
    /// Adds a tool, if its JSON is at most `left` long. Returns the length.
    pub(crate) fn add(&mut self, tool: &Value, left: usize) -> Option<usize> {
        let text = tool.to_string();
        if text.len() > left {
            return None;
        }
        self.page.push(if self.page.is_empty() { '[' } else { ',' });
        self.page.push_str(&text);
        if self.page.len() >= PAGE_BYTES {
            self.end_page();
        }
        Some(text.len())
    }

    pub(crate) fn finish(mut self) -> ToolPages {
        if !self.page.is_empty() {
            self.end_page();
        }
        ToolPages(self.pages)
    }

    fn end_page(&mut self) {
        self.page.push(']');
        self.pages.push(GzipText::of(&self.page));
        self.page.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_read_page_by_page_in_their_order() {
        let tools: Vec<Value> = (0..3000)
            .map(|number| json!({ "name": number, "description": "long ".repeat(100) }))
            .collect();
        let mut writer = ToolPagesWriter::default();
        for tool in &tools {
            assert_eq!(writer.add(tool, 10), None);
            assert_eq!(writer.add(tool, 1000), Some(tool.to_string().len()));
        }
        let mut pages = writer.finish();
        pages.settle();
        assert!((3..6).contains(&pages.page_count()), "{pages:?}");
        assert_eq!(pages.page(0)[0], tools[0]);
        assert_eq!(pages.iter().collect::<Vec<_>>(), tools);
        assert_eq!(pages.page(9), Vec::<Value>::new());
        assert_eq!(ToolPagesWriter::default().finish().page_count(), 0);
    }

    #[test]
    fn damaged_page_is_empty_and_has_a_reason() {
        let mut cut = GzipText::of("[1]").bytes().to_vec();
        cut[10] ^= 0xff;
        let pages = [
            GzipText::from_bytes(cut).unwrap(),
            GzipText::of("[1"),
            GzipText::of("[1]"),
        ];
        let problems = pages.each_ref().map(|page| unpack(page).err());
        assert_eq!(problems[0].as_deref(), Some("it cannot be unpacked"));
        assert!(
            problems[1].as_ref().unwrap().contains("EOF"),
            "{problems:?}"
        );
        let pages = ToolPages(pages.into());
        assert_eq!(pages.iter().collect::<Vec<_>>(), [json!(1)]);
    }
}
