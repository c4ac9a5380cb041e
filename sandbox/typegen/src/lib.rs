//! Generates TypeScript declarations of tools from JSON Schema or, where a tool declares no schema, from observed
//! results.
//!
//! Depends on no other crate of this workspace. A type that TypeScript cannot express is widened, never narrowed.
//!
//! - `schema_source`, `schema_parser`, `schema_shapes` and `references` read a schema into types (`ir`), which
//!   `type_algebra` combines; `selected_result` handles results whose type depends on an argument. `inline_definitions`
//!   decides which definitions keep their name.
//! - `type_emitter` writes types as TypeScript on several lines, `one_line` on one line, with comments from `jsdoc` and
//!   `sanitize`. `tool_declarations` declares one tool, `server_declarations` the properties of `mux`, `signature` a
//!   tool on one line.
//! - `names` turns server and tool names into identifiers; `server_members` turns dotted tool names into groups
//!   (`mux.petstore.pet.getPetById`), in which only segments that are not identifiers change.
//! - `observe` learns types from results. Its modules: `shape_node` is one position in a shape, `object_shape` an
//!   object; `data_keys` tells field names from data, `content_blocks` recognizes MCP content, `sample_result` reads
//!   one result, `observed_types` and `outline` convert a shape to types and text, `witnesses` record which caller has
//!   seen which name.
//!
//! Invariant: pure and total. The same tools give the same output, any JSON value gives valid TypeScript, no schema is
//! fetched, and no text of a server can escape the comment, string or type that contains it.

mod format_note;
mod inline_definitions;
mod ir;
mod jsdoc;
pub mod names;
pub mod normal_form;
mod observe;
mod one_line;
mod references;
mod sanitize;
mod schema_parser;
mod schema_shapes;
mod schema_source;
mod selected_result;
mod server_declarations;
pub mod server_members;
mod signature;
mod tool_declarations;
mod type_algebra;
mod type_emitter;

use std::{collections::HashSet, fmt::Write as _};

use names::spell;
pub use observe::{ObservedResult, ResultShape, TextForm, TextKind, Witness};
pub use schema_source::SchemaSource;
pub use selected_result::UNLESS_KEYWORD;

/// The globals of every program besides the tools: the end of every `mux.d.ts`.
pub const GLOBALS: &str = include_str!("globals.d.ts");

/// The generator's version. Increment it whenever the same tools get other declarations: the cached declarations of
/// older builds are then not used.
pub const GENERATOR_VERSION: u32 = 5;

const DECLARATIONS_HEADER: &str = "\
// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;
";

/// One tool as its server lists it.
#[derive(Clone, Debug)]
pub struct ToolDecl<'a> {
    /// The exact name.
    pub name: &'a str,
    /// A name for people.
    pub title: Option<&'a str>,
    /// The tool's description; at most 4 KiB are used.
    pub description: Option<&'a str>,
    /// JSON Schema of the arguments. Any other JSON value counts as an empty schema.
    pub input_schema: SchemaSource<'a>,
    /// JSON Schema of the structured result. Without one, the type of the result is the observed one, or else
    /// `ToolText`.
    pub output_schema: Option<SchemaSource<'a>>,
    /// The shape of observed results, for a tool without an output schema.
    pub observed: Option<ObservedResult<'a>>,
}

/// One server or source with its tools.
#[derive(Clone, Debug)]
pub struct ServerDecl<'a> {
    /// The exact name, see [`names::is_server_name`].
    pub name: &'a str,
    /// The tools, in the order in which they are shown.
    pub tools: Vec<ToolDecl<'a>>,
    /// A note for readers, such as `not connected: …`. A server with a note and without tools accepts any call, because
    /// the call itself can report the problem.
    pub note: Option<&'a str>,
}

/// The whole `mux.d.ts`: `declare const mux`, the servers' types in the namespace `Mux`, and
/// [`GLOBALS`]. It type-checks with `lib: ["es2024"]` and without the DOM.
///
/// Every tool is a method `(args: {…}): Promise<…>` of its server, or of the group that the dots of its name put it
/// into, and its types take at most 64 KiB. Segments that are not identifiers appear twice: under their identifier and,
/// quoted, under the exact name. Names whose identifiers collide appear only quoted. Any whole name with dots is
/// accepted in brackets: listing them would add a line for each tool. A server whose name is not allowed or occurs
/// twice is left out, with a comment.
pub fn declarations(servers: &[ServerDecl<'_>]) -> String {
    declarations_with_marks(servers, false)
}

/// The same for the type checker: objects that cannot have other members are `Closed<…>`.
pub fn checker_declarations(servers: &[ServerDecl<'_>]) -> String {
    declarations_with_marks(servers, true)
}

/// A tool on one line: `files.read_text_file(args: { path: string; head?: number }): Promise<{ text: string }>`, without
/// the `Promise` if nothing is known about the result. Beyond about 160 bytes, optional members are replaced by `…`,
/// and long types by their outline. Names are written as identifiers. Collisions with other names are not considered.
pub fn signature(server: &str, tool: &ToolDecl<'_>) -> String {
    signature::signature(server, tool)
}

/// The same signature for a reader that did not ask for it: a learned result has no field names, because whoever wrote
/// the result chose them.
pub fn signature_with_kinds(server: &str, tool: &ToolDecl<'_>) -> String {
    signature::signature_with_kinds(server, tool)
}

fn declarations_with_marks(servers: &[ServerDecl<'_>], marks_closed: bool) -> String {
    let mut text = DECLARATIONS_HEADER.to_owned();
    server_declarations::declare_servers(servers, marks_closed, &mut text);
    text.push_str(GLOBALS);
    text
}

/// Removes from a call the parts that only the compiler needs.
fn simplify_call(call: &str) -> String {
    let call = call.strip_suffix(": Promise<ToolText>").unwrap_or(call);
    let none = format!("(args?: {})", signature::EMPTY_OBJECT_TYPE);
    let call = call.replacen(&none, "()", 1);
    call.replacen("(args?: {})", "()", 1)
}

/// One tool with its documentation and the types that it names, as in [`declarations`], except that the call is written
/// as in a program: `mux.files.read_text_file(args: …): Promise<…>;`, without the `Promise` if nothing is known about
/// the result. Collisions with other names are not considered.
pub fn tool_declaration(server: &str, tool: &ToolDecl<'_>) -> String {
    let type_name = server_declarations::type_name(server);
    let home = format!("Mux.{type_name}");
    let mut taken = HashSet::new();
    let head = format!("mux.{}.{}", spell(server), spell(tool.name));
    let place = tool_declarations::DeclarationPlace {
        home: &home,
        pad: 0,
        types_pad: 2,
        column: head.len(),
        taken: &mut taken,
        marks_closed: false,
    };
    let declared = tool_declarations::declare_tool(tool, place);
    let mut text = declared.doc.block(0);
    _ = writeln!(text, "{head}{};", simplify_call(&declared.call));
    let is_spelled = spell(server) == server && spell(tool.name) == tool.name;
    if !is_spelled && names::is_reachable(tool.name) {
        let server = sanitize::quote_string(server);
        let tool = sanitize::quote_string(tool.name);
        _ = writeln!(text, "// also mux[{server}][{tool}]");
    } else if !is_spelled {
        let path = sanitize::quote_string(&format!("{server}.{}", tool.name));
        _ = writeln!(text, "// also mux[{path}]");
    }
    if !declared.types.is_empty() {
        _ = write!(
            text,
            "\ndeclare namespace {home} {{\n{}}}\n",
            declared.types
        );
    }
    text
}
