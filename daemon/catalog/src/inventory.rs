//! The tools as listed for an agent: an overview of the servers, and as many signatures as there is room for.
//!
//! Signatures go to the tools that are used most first, of whichever server, then to one tool of each server in turn.
//!
//! Invariant: no text exceeds its budget by our own estimate. A text's statements about itself (`COMPLETE`, numbers of
//! signatures) are true. Servers take turns for the space, so a server with thousands of tools leaves room for the
//! others.

mod overview;
mod text_size;
mod token_estimate;
mod tool_order;

use std::{borrow::Cow, cmp::Reverse, fmt::Write as _};

use mux_messages::Inventory;

use self::overview::Overview;
pub use self::{text_size::TextSize, token_estimate::tokens, tool_order::by_need};

/// After this many signatures of a server did not fit, it gets no more.
const MAX_SIGNATURE_MISSES: usize = 3;
/// A name that takes more than this fraction of the budget is not shown.
const NAME_BUDGET_DIVISOR: usize = 8;
/// Signatures of used tools that are shown before any name take at most this fraction of the budget.
const USED_BUDGET_DIVISOR: usize = 2;
/// The overview takes at most this fraction of the tokens.
const OVERVIEW_TOKENS_DIVISOR: usize = 2;

/// How large the texts of an inventory may be. `usize::MAX` is no limit.
#[derive(Clone, Copy, Debug)]
pub struct InventoryBudget {
    /// Tokens of both texts.
    pub tokens: usize,
    pub overview_chars: usize,
    /// Characters of the text with the signatures.
    pub chars: usize,
}

/// A server's tool names, in display order.
#[derive(Clone, Debug, Default)]
pub struct InventoryServer {
    pub server: String,
    /// The server's name as programs write it after `mux.`.
    pub spelled: String,
    pub tools: Vec<String>,
    /// Indices of the tools by priority. Display order if empty.
    pub order: Vec<usize>,
    /// The usage level of each tool. Empty if no tool was used.
    pub levels: Vec<u32>,
    /// The server's own statement of its purpose, on one line.
    pub purpose: Option<String>,
    /// Set if the server has instructions.
    pub has_instructions: bool,
}

impl InventoryServer {
    fn index(&self, rank: usize) -> Option<usize> {
        let index = if self.order.is_empty() {
            rank
        } else {
            *self.order.get(rank)?
        };
        (index < self.tools.len()).then_some(index)
    }
}

/// The text about one tool.
#[derive(Clone, Debug, Default)]
pub struct InventoryLine {
    /// The signature, with the tool's path.
    pub signature: String,
    /// The first sentence of its description.
    pub summary: Option<String>,
    /// Set if the tool declares that it only reads.
    pub is_read_only: bool,
}

/// Renders the inventory. `line` is called, with the indices of server and tool, only for as many tools as may fit.
pub fn render_inventory(
    servers: &[InventoryServer],
    unknown: &[String],
    budget: InventoryBudget,
    line: impl Fn(usize, usize) -> InventoryLine,
) -> Inventory {
    let total = servers.iter().map(|server| server.tools.len()).sum();
    let names = servers.iter().map(|server| server.spelled.clone());
    let names = names.collect();
    let mut overview = render_overview(servers, unknown, budget, false);
    let room = budget.text_room(&overview);
    if let Some(text) = complete_text(servers, unknown.len(), room, &line) {
        return Inventory {
            overview,
            text,
            shown: total,
            signed: total,
            total,
            servers: names,
            ..Inventory::default()
        };
    }
    overview = render_overview(servers, unknown, budget, true);
    let mut partial = PartialInventory::new(servers, total, budget.text_room(&overview));
    partial.sign_used(&line);
    partial.name_in_turns();
    if partial.shown() == total {
        partial.sign_in_turns(&line);
    }
    Inventory {
        overview,
        shown: partial.shown(),
        signed: partial.signed(),
        text: partial.text(),
        total,
        servers: names,
        ..Inventory::default()
    }
}

impl InventoryBudget {
    fn text_room(&self, overview: &str) -> TextSize {
        TextSize {
            tokens: self.tokens.saturating_sub(tokens(overview)),
            chars: self.chars,
        }
    }
}

fn render_overview(
    servers: &[InventoryServer],
    unknown: &[String],
    budget: InventoryBudget,
    with_examples: bool,
) -> String {
    let room = TextSize {
        tokens: budget.tokens / OVERVIEW_TOKENS_DIVISOR,
        chars: budget.overview_chars,
    };
    let overview = Overview {
        servers,
        unknown,
        with_examples,
    };
    let text = overview.render(room);
    let telling = servers.iter().filter(|server| server.has_instructions);
    let telling: Vec<&str> = telling.map(|server| server.spelled.as_str()).collect();
    if telling.is_empty() {
        return text;
    }
    let line = format!(
        "`describe` shows the instructions of {}\n",
        telling.join(", ")
    );
    let size = TextSize::of(&line);
    // `describe` shows instructions anyway, and tools come first.
    if size.fits(room / NAME_BUDGET_DIVISOR) && (TextSize::of(&text) + size).fits(room) {
        text + &line
    } else {
        text
    }
}

/// The signatures of all tools, with their summaries if all of these fit. `None` if not even the signatures fit.
fn complete_text(
    servers: &[InventoryServer],
    unknown: usize,
    room: TextSize,
    line: &impl Fn(usize, usize) -> InventoryLine,
) -> Option<String> {
    let total: usize = servers.iter().map(|server| server.tools.len()).sum();
    let head = if unknown == 0 {
        format!(
            "COMPLETE: the signatures of all {} of {}, so no search is needed.\n",
            count_with_noun(total, "tool"),
            count_with_noun(servers.len(), "server")
        )
    } else {
        format!(
            "PARTIAL: {total} of {}, without those of {} not connected yet; `describe` connects a server.\n",
            count_with_noun(total, "known signature"),
            count_with_noun(unknown, "server")
        )
    };
    let line_end = TextSize {
        tokens: 1,
        chars: 1,
    };
    let mut used = TextSize::of(&head);
    let mut lines = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        for tool in 0..server.tools.len() {
            let line = line(index, tool);
            used += TextSize::of(&line.marked_signature()) + line_end;
            if !used.fits(room) {
                return None;
            }
            lines.push(line);
        }
    }
    if !used.fits(room) {
        return None;
    }
    let texts: Vec<String> = lines.iter().map(InventoryLine::line_text).collect();
    let with_sentences = texts.iter().fold(TextSize::of(&head), |sum, line| {
        sum + TextSize::of(line) + line_end
    });
    let mut text = head;
    for (line, with_sentence) in lines.iter().zip(&texts) {
        if with_sentences.fits(room) {
            text.push_str(with_sentence);
        } else {
            text.push_str(&line.marked_signature());
        }
        text.push('\n');
    }
    Some(text)
}

impl InventoryLine {
    fn line_text(&self) -> String {
        match &self.summary {
            Some(summary) if self.is_read_only => format!("{}; {summary}", self.marked_signature()),
            Some(summary) => format!("{} // {summary}", self.signature),
            None => self.marked_signature().into_owned(),
        }
    }

    fn marked_signature(&self) -> Cow<'_, str> {
        mark_read_only(&self.signature, self.is_read_only)
    }
}

/// A signature with the mark of tools that declare themselves read-only.
pub fn mark_read_only(signature: &str, is_read_only: bool) -> Cow<'_, str> {
    if is_read_only {
        format!("{signature} // read-only").into()
    } else {
        signature.into()
    }
}

/// A text that does not contain all signatures.
struct PartialInventory<'a> {
    room: TextSize,
    used: TextSize,
    total: usize,
    servers: Vec<ServerPart<'a>>,
}

/// The shown part of one server.
struct ServerPart<'a> {
    server: &'a InventoryServer,
    /// Indices of the tools that are shown by name.
    named: Vec<usize>,
    /// Indices of the tools that are shown with their signature.
    signed: Vec<(usize, String)>,
}

impl<'a> PartialInventory<'a> {
    fn new(servers: &'a [InventoryServer], total: usize, room: TextSize) -> Self {
        let parts = servers.iter().map(|server| ServerPart {
            server,
            named: Vec::new(),
            signed: Vec::new(),
        });
        // The numbers in the first line are not known yet.
        let heads = [
            heading_of_all_names(total, total),
            heading_of_some_names(total, total, total),
        ];
        let heads = heads.iter().map(|head| TextSize::of(head));
        Self {
            room,
            used: heads.fold(TextSize::default(), TextSize::max),
            total,
            servers: parts.collect(),
        }
    }

    fn shown(&self) -> usize {
        let shown = self.servers.iter();
        shown.map(|part| part.named.len() + part.signed.len()).sum()
    }

    fn signed(&self) -> usize {
        self.servers.iter().map(|part| part.signed.len()).sum()
    }

    /// Adds the signatures of the tools that were used, the most used first.
    fn sign_used(&mut self, line: &impl Fn(usize, usize) -> InventoryLine) {
        let mut used = Vec::new();
        for (index, part) in self.servers.iter().enumerate() {
            let levels = part.server.levels.iter().enumerate();
            let levels = levels.filter(|(_, level)| **level > 0);
            used.extend(levels.map(|(tool, level)| (Reverse(*level), index, tool)));
        }
        used.sort_unstable();
        let most = self.used + (self.room - self.used) / USED_BUDGET_DIVISOR;
        for (_, index, tool) in used {
            let signature = line(index, tool).marked_signature().into_owned();
            let part = &mut self.servers[index];
            let cost = part.heading_cost() + signature_cost(&signature);
            if !(self.used + cost).fits(most) {
                return;
            }
            self.used += cost;
            part.signed.push((tool, signature));
        }
    }

    /// Adds one name of each server in turn, until the next name does not fit.
    fn name_in_turns(&mut self) {
        let most = self.room / NAME_BUDGET_DIVISOR;
        let longest = self.servers.iter().map(|part| part.server.tools.len());
        for rank in 0..longest.max().unwrap_or_default() {
            for part in &mut self.servers {
                let Some(tool) = part.server.index(rank) else {
                    continue;
                };
                let name = name_cost(&part.server.tools[tool]);
                if !name.fits(most) || part.is_signed(tool) {
                    continue;
                }
                let cost = part.heading_cost() + name;
                if !(self.used + cost).fits(self.room) {
                    return;
                }
                self.used += cost;
                part.named.push(tool);
            }
        }
    }

    /// Replaces one name of each server in turn by a signature, as long as there is room.
    fn sign_in_turns(&mut self, line: &impl Fn(usize, usize) -> InventoryLine) {
        let mut left: Vec<(usize, usize)> = vec![(0, 0); self.servers.len()];
        let mut is_over = false;
        while !is_over {
            is_over = true;
            for (index, (part, (next, misses))) in
                self.servers.iter_mut().zip(&mut left).enumerate()
            {
                let Some(tool) = part
                    .server
                    .index(*next)
                    .filter(|_| *misses < MAX_SIGNATURE_MISSES)
                else {
                    continue;
                };
                is_over = false;
                *next += 1;
                if part.is_signed(tool) {
                    continue;
                }
                let signature = line(index, tool).marked_signature().into_owned();
                let cost = signature_cost(&signature);
                let name = name_cost(&part.server.tools[tool]);
                if !(self.used + cost).fits(self.room + name) {
                    *misses += 1;
                    continue;
                }
                self.used = self.used + cost - name;
                part.named.retain(|named| *named != tool);
                part.signed.push((tool, signature));
            }
        }
    }

    /// The text. Empty if there is no room for its first line.
    fn text(&mut self) -> String {
        if !self.used.fits(self.room) {
            return String::new();
        }
        let signed = self.signed();
        let mut text = if self.shown() == self.total {
            heading_of_all_names(signed, self.total)
        } else {
            heading_of_some_names(signed, self.shown() - signed, self.total)
        };
        for part in &mut self.servers {
            part.named.sort_unstable();
            part.signed.sort_unstable();
            if part.is_empty() {
                continue;
            }
            text.push_str(&part.server.spelled);
            let names = part
                .named
                .iter()
                .map(|tool| part.server.tools[*tool].as_str());
            let mut names: Vec<&str> = names.collect();
            if part.named.len() + part.signed.len() < part.server.tools.len() {
                names.push("…");
            }
            if !names.is_empty() {
                _ = write!(text, ": {}", names.join(", "));
            }
            text.push('\n');
            for (_, signature) in &part.signed {
                _ = writeln!(text, " {signature}");
            }
        }
        text
    }
}

impl ServerPart<'_> {
    fn is_empty(&self) -> bool {
        self.named.is_empty() && self.signed.is_empty()
    }

    fn is_signed(&self, tool: usize) -> bool {
        self.signed.iter().any(|(signed, _)| *signed == tool)
    }

    /// The cost of the server's first tool besides the tool itself.
    fn heading_cost(&self) -> TextSize {
        if self.is_empty() {
            TextSize::of(&format!("{}: , …\n", self.server.spelled))
        } else {
            TextSize::default()
        }
    }
}

/// The cost of a name with its comma.
fn name_cost(name: &str) -> TextSize {
    let comma = TextSize {
        tokens: 1,
        chars: 2,
    };
    TextSize::of(name) + comma
}

fn signature_cost(signature: &str) -> TextSize {
    TextSize::of(&format!(" {signature}\n"))
}

/// The first line of a text that names every tool.
fn heading_of_all_names(signed: usize, total: usize) -> String {
    format!(
        "PARTIAL: {signed} of {}; `describe` or mux.describe(path) shows the others.\n",
        count_with_noun(total, "signature")
    )
}

/// The first line of a text that does not even name every tool.
fn heading_of_some_names(signed: usize, named: usize, total: usize) -> String {
    let used = if signed > 0 {
        " (the most used tools)"
    } else {
        ""
    };
    format!(
        "PARTIAL: {signed} of {}{used}, and {}; `search` or mux.search(\"words\") finds the others.\n",
        count_with_noun(total, "signature"),
        count_with_noun(named, "other name")
    )
}

fn count_with_noun(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

#[cfg(test)]
mod proptests;
