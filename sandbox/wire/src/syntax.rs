//! A program's syntax tree as a list of nodes.

use serde::{Deserialize, Serialize};

/// The maximum number of nodes of one program.
pub const MAX_SYNTAX_NODES: usize = 50_000;

/// One node of a program's syntax tree. Positions are byte offsets in the program without its fence.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SyntaxNode {
    /// The kind by the parser's name, which is that of `ESTree` for most, such as `CallExpression`.
    pub kind: String,
    /// The member of the parent that this node is, or is in, such as `callee`, or `spread` for a spread argument.
    pub slot: String,
    /// The name, the text or the operator of the node, or `const`, `async`, `generator` or `optional`.
    pub text: String,
    pub start: u32,
    pub end: u32,
    /// The number of the node around it, which is before it in the list.
    pub parent: Option<u32>,
}
