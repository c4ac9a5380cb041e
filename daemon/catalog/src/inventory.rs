//! The list of tools in an agent's tool description, as detailed as a token budget allows.
//!
//! Signatures go to the tools that are used most first, of whichever server, then to one tool of each server in turn.
//!
//! Invariant: the text never exceeds its budget by our own estimate, names every server if their names fit, and divides
//! the space between servers in turns, so that one with thousands of tools leaves room for the others.

mod token_estimate;
mod tool_order;

use std::cmp::Reverse;

pub use self::{token_estimate::tokens, tool_order::by_need};

/// After this many signatures of a server did not fit, it gets no more.
const MAX_SIGNATURE_MISSES: usize = 3;
/// A name that takes more than this fraction of the budget is not shown.
const NAME_BUDGET_DIVISOR: usize = 8;
/// Signatures of used tools that are shown before any name take at most this fraction of the budget.
const USED_BUDGET_DIVISOR: usize = 2;

/// A server's tool names, in display order.
#[derive(Clone, Debug, Default)]
pub struct InventoryServer {
    pub server: String,
    /// The server's name as programs write it after `mux.`.
    pub spelled: String,
    pub tools: Vec<String>,
    /// Indices of the tools by priority. Display order if empty.
    pub order: Vec<usize>,
    /// The usage level of each tool. No tool was used if empty.
    pub levels: Vec<u32>,
    /// The server has instructions.
    pub has_instructions: bool,
}

impl InventoryServer {
    fn place(&self, rank: usize) -> Option<usize> {
        let place = match self.order.is_empty() {
            true => rank,
            false => *self.order.get(rank)?,
        };
        (place < self.tools.len()).then_some(place)
    }
}

/// The text about one tool.
#[derive(Clone, Debug, Default)]
pub struct InventoryLine {
    /// The signature, with the tool's path.
    pub signature: String,
    /// The first sentence of its description.
    pub summary: Option<String>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Inventory {
    pub text: String,
    /// The number of tools that the text names.
    pub shown: usize,
    pub total: usize,
}

/// Renders the inventory. `line` is called, with the indices of server and tool, only for as many tools as may fit.
pub fn render_inventory(
    servers: &[InventoryServer],
    unknown: &[String],
    budget: usize,
    line: impl Fn(usize, usize) -> InventoryLine,
) -> Inventory {
    let total = servers.iter().map(|server| server.tools.len()).sum();
    let mut last_lines = match unknown {
        [] => String::new(),
        names => format!("not connected yet: {}\n", names.join(", ")),
    };
    let telling = servers.iter().filter(|server| server.has_instructions);
    let telling: Vec<&str> = telling.map(|server| server.spelled.as_str()).collect();
    if !telling.is_empty() {
        let line = format!(
            "with instructions of their own, which describe shows: {}\n",
            telling.join(", ")
        );
        // Omitted if it is long: `describe` shows instructions anyway, and tools come first.
        if tokens(&line) <= budget / NAME_BUDGET_DIVISOR {
            last_lines.push_str(&line);
        }
    }
    if let Some(text) = complete_text(servers, &last_lines, budget, &line) {
        let shown = total;
        return Inventory { text, shown, total };
    }
    let mut partial = PartialInventory::new(servers, total, budget, &last_lines);
    if partial.used > budget {
        let known = servers.iter().map(|server| server.server.as_str());
        let all = known.chain(unknown.iter().map(String::as_str));
        return server_names_only(&all.collect::<Vec<_>>(), total, budget);
    }
    partial.sign_used(&line);
    partial.name_in_turns();
    if partial.shown() == total {
        partial.sign_in_turns(&line);
    }
    Inventory {
        shown: partial.shown(),
        text: partial.text(&last_lines),
        total,
    }
}

/// The signatures of all tools, with their summaries if all of these fit. `None` if not even the signatures fit.
fn complete_text(
    servers: &[InventoryServer],
    last_lines: &str,
    budget: usize,
    line: &impl Fn(usize, usize) -> InventoryLine,
) -> Option<String> {
    let total: usize = servers.iter().map(|server| server.tools.len()).sum();
    let head = format!(
        "COMPLETE: the signatures of all {} of {}.\n",
        count_with_noun(total, "tool"),
        count_with_noun(servers.len(), "server")
    );
    let mut used = tokens(&head) + tokens(last_lines);
    let mut lines = Vec::new();
    for (place, server) in servers.iter().enumerate() {
        for tool in 0..server.tools.len() {
            let line = line(place, tool);
            used += tokens(&line.signature) + 1;
            if used > budget {
                return None;
            }
            lines.push(line);
        }
    }
    let mut text = head;
    let texts: Vec<String> = lines.iter().map(InventoryLine::line_text).collect();
    let with_sentences = tokens(&text) + tokens(last_lines);
    let with_sentences = texts
        .iter()
        .fold(with_sentences, |sum, line| sum + tokens(line) + 1);
    for (line, with_sentence) in lines.iter().zip(&texts) {
        let shown = if with_sentences <= budget {
            with_sentence
        } else {
            &line.signature
        };
        text.push_str(shown);
        text.push('\n');
    }
    text.push_str(last_lines);
    // The heading alone may be too long.
    (used <= budget).then_some(text)
}

impl InventoryLine {
    fn line_text(&self) -> String {
        match &self.summary {
            Some(summary) => format!("{} // {summary}", self.signature),
            None => self.signature.clone(),
        }
    }
}

/// A text that does not contain all signatures.
struct PartialInventory<'a> {
    budget: usize,
    used: usize,
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
    fn new(servers: &'a [InventoryServer], total: usize, budget: usize, last_lines: &str) -> Self {
        let parts = servers.iter().map(|server| ServerPart {
            server,
            named: Vec::new(),
            signed: Vec::new(),
        });
        let mut partial = Self {
            budget,
            used: 0,
            total,
            servers: parts.collect(),
        };
        let heads = partial.servers.iter().map(|part| {
            // Includes everything around the names.
            tokens(&format!("{}: , …\n", part.full_heading()))
        });
        // The numbers in the first line may still change.
        let is_used = servers
            .iter()
            .any(|server| server.levels.iter().any(|level| *level > 0));
        let head = [
            heading(total, total, total),
            heading(total, total, 0),
            heading(0, total, if is_used { total } else { 0 }),
        ];
        let head = head.iter().map(|head| tokens(head)).max();
        partial.used = head.unwrap_or_default() + heads.sum::<usize>() + tokens(last_lines);
        partial
    }

    fn shown(&self) -> usize {
        let shown = self.servers.iter();
        shown.map(|part| part.named.len() + part.signed.len()).sum()
    }

    /// Adds the signatures of the tools that were used, the most used first.
    fn sign_used(&mut self, line: &impl Fn(usize, usize) -> InventoryLine) {
        let mut used = Vec::new();
        for (place, part) in self.servers.iter().enumerate() {
            let levels = part.server.levels.iter().enumerate();
            let levels = levels.filter(|(_, level)| **level > 0);
            used.extend(levels.map(|(tool, level)| (Reverse(*level), place, tool)));
        }
        used.sort_unstable();
        let most = self.used + self.budget.saturating_sub(self.used) / USED_BUDGET_DIVISOR;
        for (_, place, tool) in used {
            let signature = line(place, tool).signature;
            let cost = tokens(&format!(" {signature}\n"));
            if self.used + cost > most {
                return;
            }
            self.used += cost;
            self.servers[place].signed.push((tool, signature));
        }
    }

    /// Adds one name of each server in turn, until the next one does not fit.
    fn name_in_turns(&mut self) {
        let most = self.budget / NAME_BUDGET_DIVISOR;
        let longest = self.servers.iter().map(|part| part.server.tools.len());
        for rank in 0..longest.max().unwrap_or_default() {
            for part in &mut self.servers {
                let Some(tool) = part.server.place(rank) else {
                    continue;
                };
                let name = &part.server.tools[tool];
                let cost = name_cost(name);
                if cost > most || part.is_signed(tool) {
                    continue;
                }
                if self.used + cost > self.budget {
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
            for (place, (part, (next, misses))) in
                self.servers.iter_mut().zip(&mut left).enumerate()
            {
                let Some(tool) = part
                    .server
                    .place(*next)
                    .filter(|_| *misses < MAX_SIGNATURE_MISSES)
                else {
                    continue;
                };
                is_over = false;
                *next += 1;
                if part.is_signed(tool) {
                    continue;
                }
                let signature = line(place, tool).signature;
                let cost = tokens(&format!(" {signature}\n"));
                let name = name_cost(&part.server.tools[tool]);
                if self.used + cost > self.budget + name {
                    *misses += 1;
                    continue;
                }
                self.used = self.used + cost - name;
                part.named.retain(|named| *named != tool);
                part.signed.push((tool, signature));
            }
        }
    }

    fn text(&mut self, last_lines: &str) -> String {
        for part in &mut self.servers {
            part.named.sort_unstable();
            part.signed.sort_unstable();
        }
        let signed = self.servers.iter().map(|part| part.signed.len()).sum();
        let mut text = heading(self.shown(), self.total, signed);
        for part in &self.servers {
            text.push_str(&part.full_heading());
            let names = part
                .named
                .iter()
                .map(|tool| part.server.tools[*tool].as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            let shown = part.named.len() + part.signed.len();
            let rest = match (names.is_empty(), shown < part.server.tools.len()) {
                (true, _) => String::new(),
                (false, true) => format!(": {names}, …"),
                (false, false) => format!(": {names}"),
            };
            text.push_str(&rest);
            text.push('\n');
            for (_, signature) in &part.signed {
                text.push_str(&format!(" {signature}\n"));
            }
        }
        text.push_str(last_lines);
        text
    }
}

impl ServerPart<'_> {
    fn is_signed(&self, tool: usize) -> bool {
        self.signed.iter().any(|(signed, _)| *signed == tool)
    }

    fn full_heading(&self) -> String {
        let tools = count_with_noun(self.server.tools.len(), "tool");
        format!("{} ({tools})", self.server.spelled)
    }
}

/// The cost of a name with its comma.
fn name_cost(name: &str) -> usize {
    tokens(name) + 1
}

fn heading(shown: usize, total: usize, signed: usize) -> String {
    let tools = count_with_noun(total, "tool");
    match (shown < total, signed) {
        (true, 0) => format!(
            "PARTIAL: the names of {shown} of {tools}, without signatures; find the others with search or \
             mux.search(\"words\").\n"
        ),
        (true, signed) => format!(
            "PARTIAL: the names of {shown} of {tools}, {signed} of them, the most used ones, with signatures; find the \
             others with search or mux.search(\"words\").\n"
        ),
        (false, 0) => format!(
            "PARTIAL: the names of all {tools}, without signatures; describe or mux.describe(path) has those.\n"
        ),
        (false, signed) => format!(
            "PARTIAL: the signatures of {signed} of {tools}, and the names of the others; describe or \
             mux.describe(path) has their signatures.\n"
        ),
    }
}

/// Lists names of servers until the budget is used.
fn server_names_only(servers: &[&str], total: usize, budget: usize) -> Inventory {
    let of = |names: &[&str]| {
        let left = servers.len() - names.len();
        let mut text = format!(
            "PARTIAL: the servers of {}: ",
            count_with_noun(total, "tool")
        );
        text.push_str(&names.join(", "));
        if left > 0 {
            let and = if names.is_empty() { "" } else { " and " };
            let more = count_with_noun(left, "more server");
            text.push_str(&format!("{and}{more}"));
        }
        text.push_str("; use search or mux.search(\"words\").\n");
        text
    };
    // The rest of the text grows by no more than that.
    let mut left = budget.saturating_sub(tokens(&of(&[])) + 2);
    let fitting = servers.iter().take_while(|name| {
        let cost = name_cost(name);
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        fits
    });
    let text = of(&servers[..fitting.count()]);
    let text = if tokens(&text) > budget {
        String::new()
    } else {
        text
    };
    let shown = 0;
    Inventory { text, shown, total }
}

fn count_with_noun(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

#[cfg(test)]
mod proptests;
