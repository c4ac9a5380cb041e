//! Sets of tools with graded queries, the figures of a ranking on them, and plain BM25 as a baseline.
//!
//! The unit tests of `mux-catalog` include this file, so it depends on the standard library and serde alone.

use std::{collections::HashMap, error::Error, fs, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// How many hits of each query are judged.
pub const JUDGED_HITS: usize = 10;

#[derive(Clone, Debug, Deserialize)]
pub struct DiscoveryTool {
    pub server: String,
    #[serde(alias = "tool")]
    pub name: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    parameters: Vec<String>,
    #[serde(default, rename = "inputSchema")]
    input_schema: Option<Value>,
}

impl DiscoveryTool {
    /// The name in the labels of queries.
    pub fn key(&self) -> String {
        format!("{}:{}", self.server, self.name)
    }

    /// The schema of its arguments, or one with their names.
    pub fn input_schema(&self) -> Value {
        self.input_schema.clone().unwrap_or_else(|| {
            let properties = self.parameters.iter();
            let properties: Map<String, Value> = properties
                .map(|name| (name.clone(), json!({ "type": "string" })))
                .collect();
            json!({ "type": "object", "properties": properties })
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct GradedQuery {
    pub query: String,
    /// Not for tuning.
    #[serde(default)]
    pub held_out: bool,
    /// The relevant tools, graded 1 to 3.
    pub labels: HashMap<String, u32>,
}

#[derive(Clone, Debug)]
pub struct DiscoverySet {
    pub tools: Vec<DiscoveryTool>,
    pub queries: Vec<GradedQuery>,
}

impl DiscoverySet {
    /// Reads tools and queries, one JSON object a line.
    pub fn read(tools: &Path, queries: &Path) -> Result<Self, Box<dyn Error>> {
        let mut set = Self {
            tools: read_lines(tools)?,
            queries: read_lines(queries)?,
        };
        for query in &mut set.queries {
            query.labels.retain(|_, grade| *grade > 0);
        }
        Ok(set)
    }

    /// The first tools, with the queries that are about them.
    #[must_use]
    pub fn first(&self, tools: usize) -> Self {
        let tools: Vec<DiscoveryTool> = self.tools.iter().take(tools).cloned().collect();
        let keys: std::collections::HashSet<String> =
            tools.iter().map(DiscoveryTool::key).collect();
        let mut queries = self.queries.clone();
        for query in &mut queries {
            query.labels.retain(|key, _| keys.contains(key));
        }
        queries.retain(|query| !query.labels.is_empty());
        Self { tools, queries }
    }

    /// The tools of each server, in the order of the set.
    pub fn servers(&self) -> Vec<(&str, Vec<&DiscoveryTool>)> {
        let mut servers: Vec<(&str, Vec<&DiscoveryTool>)> = Vec::new();
        for tool in &self.tools {
            match servers.iter_mut().find(|(name, _)| *name == tool.server) {
                Some((_, tools)) => tools.push(tool),
                None => servers.push((&tool.server, vec![tool])),
            }
        }
        servers
    }
}

fn read_lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.is_empty());
    Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// The quality of a ranking, as means over queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankingFigures {
    /// The share of the relevant tools among the first hit and the first five.
    pub recall_1: f64,
    pub recall_5: f64,
    /// 1 / the rank of the first relevant tool.
    pub mrr: f64,
    /// The discounted gain of the first five hits, with linear gain.
    pub ndcg_5: f64,
    pub queries: usize,
}

impl RankingFigures {
    /// The figures of the ranked keys that answer each query.
    pub fn of<'a>(answers: impl IntoIterator<Item = (&'a GradedQuery, Vec<String>)>) -> Self {
        let mut sums = Self::default();
        for (query, hits) in answers {
            sums.add(query, &hits);
        }
        let queries = sums.queries.max(1) as f64;
        Self {
            recall_1: sums.recall_1 / queries,
            recall_5: sums.recall_5 / queries,
            mrr: sums.mrr / queries,
            ndcg_5: sums.ndcg_5 / queries,
            queries: sums.queries,
        }
    }

    fn add(&mut self, query: &GradedQuery, hits: &[String]) {
        let grade = |hit: &String| query.labels.get(hit).copied().unwrap_or(0);
        let grades: Vec<u32> = hits.iter().take(JUDGED_HITS).map(grade).collect();
        let recall = |first: usize| {
            let found = grades.iter().take(first).filter(|grade| **grade > 0);
            found.count() as f64 / query.labels.len() as f64
        };
        let mut best: Vec<u32> = query.labels.values().copied().collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        let first = grades.iter().position(|grade| *grade > 0);
        self.recall_1 += recall(1);
        self.recall_5 += recall(5);
        self.mrr += first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
        self.ndcg_5 += gain_of_five(&grades) / gain_of_five(&best);
        self.queries += 1;
    }

    pub fn all(&self) -> [f64; 4] {
        [self.recall_1, self.recall_5, self.mrr, self.ndcg_5]
    }
}

fn gain_of_five(grades: &[u32]) -> f64 {
    let grades = grades.iter().take(5).enumerate();
    grades
        .map(|(place, grade)| f64::from(*grade) / (place as f64 + 2.0).log2())
        .sum()
}

/// BM25 over name, title, description and parameters as one text, without stems, stop words and synonyms.
#[derive(Debug)]
pub struct PlainBm25 {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    keys: Vec<String>,
}

const BM25_K1: f64 = 1.2;
const BM25_B: f64 = 0.75;

impl PlainBm25 {
    pub fn new(tools: &[DiscoveryTool]) -> Self {
        let mut index = Self {
            postings: HashMap::new(),
            lengths: Vec::new(),
            keys: tools.iter().map(DiscoveryTool::key).collect(),
        };
        for (place, tool) in tools.iter().enumerate() {
            let schema = tool.input_schema();
            let parameters = schema["properties"].as_object().into_iter().flatten();
            let mut words = plain_words(&tool.name);
            words.extend(plain_words(tool.title.as_deref().unwrap_or_default()));
            words.extend(plain_words(tool.description.as_deref().unwrap_or_default()));
            words.extend(parameters.flat_map(|(name, _)| plain_words(name)));
            index.lengths.push(words.len() as f64);
            for word in words {
                let postings = index.postings.entry(word).or_default();
                match postings.last_mut() {
                    Some((last, count)) if *last == place => *count += 1.0,
                    _ => postings.push((place, 1.0)),
                }
            }
        }
        index
    }

    /// The keys of the best tools; among equals, the first in the set.
    pub fn search(&self, query: &str) -> Vec<String> {
        let tools = self.lengths.len() as f64;
        let usual = self.lengths.iter().sum::<f64>() / tools.max(1.0);
        let mut scores = vec![0.0; self.lengths.len()];
        let mut words = plain_words(query);
        words.sort();
        words.dedup();
        for postings in words.iter().filter_map(|word| self.postings.get(word)) {
            let with = postings.len() as f64;
            let rarity = (1.0 + (tools - with + 0.5) / (with + 0.5)).ln();
            for (tool, count) in postings {
                let length = 1.0 - BM25_B + BM25_B * self.lengths[*tool] / usual;
                scores[*tool] += rarity * count * (BM25_K1 + 1.0) / (count + BM25_K1 * length);
            }
        }
        let mut found: Vec<usize> = (0..scores.len())
            .filter(|tool| scores[*tool] > 0.0)
            .collect();
        found.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let best = found.iter().take(JUDGED_HITS);
        best.map(|tool| self.keys[*tool].clone()).collect()
    }
}

/// The words of a text or a name, split by case and separators.
fn plain_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut last = ' ';
    for letter in text.chars() {
        let begins = letter.is_uppercase() && !last.is_uppercase();
        if (!letter.is_alphanumeric() || begins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        last = letter;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}
