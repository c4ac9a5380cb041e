//! Finds the fields of root types in a document. Wherever such a field is selected, it has the effect of the function
//! of its name.
//!
//! A schema may return a root type below the root (`{ node { query { a } } }`), so a field is recognized by the type on
//! which it is selected, not by its depth.
//!
//! Invariant: nothing that a document may run is missed: all of its operations count, whichever is named, and all
//! fields, also in fragments and with `@skip`. The limits below bound the cost for any document, variables and schema.
//! Of a variable, only arguments that a rule inspects are copied.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    rc::Rc,
    time::Duration,
};

use apollo_compiler::{
    Node,
    ast::{self, FragmentDefinition, OperationDefinition, OperationType, Selection},
};
use blake3::{Hash, Hasher};
use mux_process::thread_clock;
use serde_json::{Map, Value};

use super::{
    query_document::{DocumentError, QueryDocument},
    schema_model::{GraphqlSchema, OperationKind},
    value_literal,
};
use mux_text::json_length;

/// The number of fields, fragments and inline fragments that are visited.
const MAX_VISITS: usize = 20_000;
/// The number of root fields that differ in name or arguments.
const MAX_ROOT_FIELDS: usize = 1_000;
/// The size of all arguments that rules inspect, as JSON.
const MAX_ARGUMENT_BYTES: usize = 4 << 20;
/// CPU time for the whole document, including policy's. Not wall time, because a busy machine must not refuse a
/// document.
const MAX_JUDGING_TIME: Duration = Duration::from_secs(2);

const TYPENAME_META_FIELD: &str = "__typename";
/// Fields that return introspection types, none of which is defined by the schema.
const INTROSPECTION_FIELDS: [&str; 2] = ["__schema", "__type"];

/// A field of a root type, as a call of its function.
pub struct EquivalentField<'a, 'd> {
    /// The name of the function, such as `mutation.rename`.
    pub function: &'a str,
    /// The MCP annotations of the function.
    pub annotations: &'a Value,
    /// Set if another field of the document has a destructive name.
    pub may_destroy: bool,
    written: &'d [Node<ast::Argument>],
    defaults: &'a VariableDefaults<'d>,
    variables: &'a mut VariableValues<'d>,
}

/// Called once for each field with each set of arguments; `Break` stops the search.
pub type FieldJudge<'j> = dyn FnMut(&mut EquivalentField<'_, '_>) -> ControlFlow<()> + 'j;

/// Effects of a call besides its equivalent fields.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CallEffects {
    /// The reason there may be further fields of root types.
    pub undecided: Option<String>,
    /// Set if the selection of a function call has a field with a destructive name.
    pub may_destroy: bool,
}

impl EquivalentField<'_, '_> {
    /// The arguments in the document, with the values of its variables.
    pub fn arguments(&mut self) -> Result<Value, DocumentError> {
        self.variables.arguments(self.written, self.defaults)
    }
}

/// Reports the root fields that a document reaches to `judge`. Without a schema only the top-level fields of operations
/// are known.
pub(super) fn judge_document(
    schema: Option<&GraphqlSchema>,
    document: &QueryDocument,
    given: Option<&Map<String, Value>>,
    deadline: Duration,
    judge: &mut FieldJudge<'_>,
) -> Result<CallEffects, DocumentError> {
    let nothing = Map::new();
    let variables = VariableValues::new(given.unwrap_or(&nothing), deadline);
    let mut walk = DocumentWalker::new(schema, document, variables, judge);
    for operation in document.operations() {
        let kind = match operation.operation_type {
            OperationType::Query => OperationKind::Query,
            OperationType::Mutation => OperationKind::Mutation,
            OperationType::Subscription => OperationKind::Subscription,
        };
        let scope = SelectionScope {
            root: Some(kind),
            parent: schema
                .and_then(|schema| schema.root(kind))
                .map_or(ParentType::Unknown, ParentType::Known),
        };
        let defaults = walk.variable_defaults(operation);
        walk.selections(&operation.selection_set, scope, &defaults)?;
        walk.walk_fragments()?;
    }
    Ok(walk.into_effects())
}

/// Reports the root fields below the field of a function's document. `ty` is the type of that field.
pub(super) fn judge_function_document(
    schema: &GraphqlSchema,
    document: &QueryDocument,
    ty: &str,
    deadline: Duration,
    judge: &mut FieldJudge<'_>,
) -> Result<CallEffects, DocumentError> {
    let nothing = Map::new();
    let variables = VariableValues::new(&nothing, deadline);
    let mut walk = DocumentWalker::new(Some(schema), document, variables, judge);
    let scope = SelectionScope {
        root: None,
        parent: walk.parent_type(ty),
    };
    let defaults = Rc::default();
    let own = document.operations().flat_map(|one| &one.selection_set);
    for field in own.filter_map(Selection::as_field) {
        walk.selections(&field.selection_set, scope, &defaults)?;
    }
    Ok(CallEffects {
        may_destroy: document.destroys,
        ..walk.into_effects()
    })
}

/// The deadline for a document whose check starts now, on this thread's CPU clock.
pub(super) fn judging_deadline() -> Duration {
    thread_cpu_time().saturating_add(MAX_JUDGING_TIME)
}

/// The CPU time that this thread has used.
pub(super) fn thread_cpu_time() -> Duration {
    thread_clock::thread_cpu_time().unwrap_or_default()
}

/// The position of a selection in the document.
#[derive(Clone, Copy)]
struct SelectionScope<'d> {
    /// The operation, for the operation's own fields.
    root: Option<OperationKind>,
    parent: ParentType<'d>,
}

/// The type on which fields are selected.
#[derive(Clone, Copy)]
enum ParentType<'d> {
    Known(&'d str),
    Introspection,
    Unknown,
}

/// Defaults of variables that are not given.
#[derive(Clone, Default)]
struct VariableDefaults<'d> {
    /// Equal for operations with the same defaults.
    number: usize,
    values: HashMap<&'d str, &'d ast::Value>,
}

struct DocumentWalker<'d, 'j> {
    schema: Option<&'d GraphqlSchema>,
    fragments: HashMap<&'d str, &'d FragmentDefinition>,
    destroys: bool,
    variables: VariableValues<'d>,
    visits: usize,
    known: HashSet<(OperationKind, &'d str, Hash)>,
    /// Fragments that were or will be walked, with everything else that their fields depend on.
    entered: HashSet<(&'d str, Option<OperationKind>, usize)>,
    waiting: Vec<(
        &'d FragmentDefinition,
        Option<OperationKind>,
        Rc<VariableDefaults<'d>>,
    )>,
    /// The numbers of defaults, by the hash of their values.
    defaults: HashMap<Hash, usize>,
    undecided: Option<String>,
    judge: &'j mut FieldJudge<'j>,
}

impl<'d, 'j> DocumentWalker<'d, 'j> {
    fn new(
        schema: Option<&'d GraphqlSchema>,
        document: &'d QueryDocument,
        variables: VariableValues<'d>,
        judge: &'j mut FieldJudge<'_>,
    ) -> Self {
        let fragments = document.fragments();
        Self {
            schema,
            fragments: fragments
                .map(|fragment| (fragment.name.as_str(), fragment))
                .collect(),
            destroys: document.destroys,
            variables,
            visits: 0,
            known: HashSet::new(),
            entered: HashSet::new(),
            waiting: Vec::new(),
            defaults: HashMap::new(),
            undecided: None,
            judge,
        }
    }

    fn into_effects(self) -> CallEffects {
        CallEffects {
            undecided: self.undecided,
            may_destroy: false,
        }
    }

    /// The defaults of an operation's variables that are not given.
    fn variable_defaults(
        &mut self,
        operation: &'d OperationDefinition,
    ) -> Rc<VariableDefaults<'d>> {
        let mut values = HashMap::new();
        let mut hasher = Hasher::new();
        let mut declared: Vec<_> = operation.variables.iter().collect();
        declared.sort_by(|a, b| a.name.cmp(&b.name));
        for variable in declared {
            let name = variable.name.as_str();
            if let Some(default) = &variable.default_value
                && !self.variables.given.contains_key(name)
            {
                hash_text(&mut hasher, name);
                self.variables
                    .hash(default, &VariableDefaults::default(), &mut hasher);
                values.insert(name, &**default);
            }
        }
        let next = self.defaults.len();
        let number = *self.defaults.entry(hasher.finalize()).or_insert(next);
        Rc::new(VariableDefaults { number, values })
    }

    fn selections(
        &mut self,
        selections: &'d [Selection],
        scope: SelectionScope<'d>,
        defaults: &Rc<VariableDefaults<'d>>,
    ) -> Result<(), DocumentError> {
        for selection in selections {
            self.visits += 1;
            if self.visits > MAX_VISITS {
                return Err(DocumentError::limit(
                    "`query` has too many fields, with a fragment counted again for each set of variable defaults",
                    "max_visits",
                    MAX_VISITS,
                ));
            }
            match selection {
                Selection::Field(field) => self.field(field, scope, defaults)?,
                Selection::InlineFragment(fragment) => {
                    let condition = fragment.type_condition.as_ref();
                    let parent = condition.map_or(scope.parent, |on| self.parent_type(on.as_str()));
                    let scope = SelectionScope { parent, ..scope };
                    self.selections(&fragment.selection_set, scope, defaults)?;
                }
                Selection::FragmentSpread(spread) => {
                    let name = spread.fragment_name.as_str();
                    let fragment = self.fragments.get(name).copied().ok_or_else(|| {
                        DocumentError::Invalid(format!("`query` has no fragment `{name}`"))
                    })?;
                    // Each fragment once, so a cycle ends.
                    if self.entered.insert((name, scope.root, defaults.number)) {
                        self.waiting
                            .push((fragment, scope.root, Rc::clone(defaults)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Walks the fragments that were spread. A loop, not a recursion, because a chain of fragments may be long.
    fn walk_fragments(&mut self) -> Result<(), DocumentError> {
        while let Some((fragment, root, defaults)) = self.waiting.pop() {
            let parent = self.parent_type(fragment.type_condition.as_str());
            let scope = SelectionScope { root, parent };
            self.selections(&fragment.selection_set, scope, &defaults)?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &'d ast::Field,
        scope: SelectionScope<'d>,
        defaults: &Rc<VariableDefaults<'d>>,
    ) -> Result<(), DocumentError> {
        let name = field.name.as_str();
        let possible = match (scope.parent, self.schema) {
            (ParentType::Known(ty), Some(schema)) => schema.operations_at(ty),
            _ => &[],
        };
        if let Some(root) = scope.root {
            self.judge_field(root, field, defaults)?;
        }
        if name != TYPENAME_META_FIELD {
            for &operation in possible {
                if scope.root != Some(operation) {
                    self.judge_field(operation, field, defaults)?;
                }
            }
            let is_unknown = matches!(scope.parent, ParentType::Unknown) && scope.root.is_none();
            if is_unknown && self.undecided.is_none() {
                self.undecided = Some(format!(
                    "the known schema does not tell on which type the field `{name}` is selected"
                ));
            }
        }
        if field.selection_set.is_empty() {
            return Ok(());
        }
        let is_query =
            scope.root == Some(OperationKind::Query) || possible.contains(&OperationKind::Query);
        let parent = match scope.parent {
            ParentType::Introspection => ParentType::Introspection,
            _ if is_query && INTROSPECTION_FIELDS.contains(&name) => ParentType::Introspection,
            ParentType::Known(ty) => {
                let known = self.schema.and_then(|schema| schema.field(ty, name));
                known.map_or(ParentType::Unknown, |field| {
                    self.parent_type(field.ty.name())
                })
            }
            ParentType::Unknown => ParentType::Unknown,
        };
        let scope = SelectionScope { root: None, parent };
        self.selections(&field.selection_set, scope, defaults)
    }

    fn parent_type(&self, ty: &'d str) -> ParentType<'d> {
        match self.schema {
            // Reserved for introspection.
            _ if ty.starts_with("__") => ParentType::Introspection,
            Some(schema) if schema.is_composite(ty) => ParentType::Known(ty),
            _ => ParentType::Unknown,
        }
    }

    fn judge_field(
        &mut self,
        operation: OperationKind,
        field: &'d ast::Field,
        defaults: &VariableDefaults<'d>,
    ) -> Result<(), DocumentError> {
        let name = field.name.as_str();
        let mut hasher = Hasher::new();
        self.variables
            .hash_arguments(&field.arguments, defaults, &mut hasher);
        if !self.known.insert((operation, name, hasher.finalize())) {
            return Ok(());
        }
        if self.known.len() > MAX_ROOT_FIELDS {
            return Err(DocumentError::limit(
                "`query` selects too many fields of root types",
                "max_root_fields",
                MAX_ROOT_FIELDS,
            ));
        }
        self.variables.check_time()?;
        let judged = (self.judge)(&mut EquivalentField {
            function: &format!("{}.{name}", operation.word()),
            annotations: &operation.annotations(name),
            may_destroy: self.destroys && operation == OperationKind::Mutation,
            written: &field.arguments,
            defaults,
            variables: &mut self.variables,
        });
        match judged {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(DocumentError::Stopped),
        }
    }
}

/// The values of a document's variables, and the budget for copying arguments.
struct VariableValues<'d> {
    given: &'d Map<String, Value>,
    /// Variables that were hashed and measured.
    measured: HashMap<&'d str, MeasuredVariable>,
    /// The number of bytes copied so far.
    bytes: usize,
    deadline: Duration,
}

#[derive(Clone, Copy)]
struct MeasuredVariable {
    hash: Hash,
    /// The length as JSON. `None` if it exceeds [`MAX_ARGUMENT_BYTES`].
    bytes: Option<usize>,
}

impl<'d> VariableValues<'d> {
    fn new(given: &'d Map<String, Value>, deadline: Duration) -> Self {
        Self {
            given,
            measured: HashMap::new(),
            bytes: 0,
            deadline,
        }
    }

    fn check_time(&self) -> Result<(), DocumentError> {
        if thread_cpu_time() < self.deadline {
            Ok(())
        } else {
            Err(DocumentError::limit(
                "`query` takes too long to check",
                "max_judging_time",
                format_args!("{MAX_JUDGING_TIME:?} of CPU time"),
            ))
        }
    }

    fn hash_arguments(
        &mut self,
        arguments: &'d [Node<ast::Argument>],
        defaults: &VariableDefaults<'d>,
        hasher: &mut Hasher,
    ) {
        for argument in arguments {
            hash_text(hasher, argument.name.as_str());
            self.hash(&argument.value, defaults, hasher);
        }
    }

    /// Hashes a value. Two values with the same hash are equal.
    fn hash(
        &mut self,
        value: &'d ast::Value,
        defaults: &VariableDefaults<'d>,
        hasher: &mut Hasher,
    ) {
        hash_text(hasher, &value.serialize().no_indent().to_string());
        for name in value_literal::variables_in(value) {
            match self.measure_variable(name) {
                Some(measured) => {
                    hasher.update(b"v").update(measured.hash.as_bytes());
                }
                None => match defaults.values.get(name) {
                    // A default value has no variables.
                    Some(default) => self.hash(default, &VariableDefaults::default(), hasher),
                    None => drop(hasher.update(b"-")),
                },
            }
        }
    }

    /// The hash and the length of a variable. `None` if the variable is not given.
    fn measure_variable(&mut self, name: &'d str) -> Option<MeasuredVariable> {
        let value = self.given.get(name)?;
        let measured = self.measured.entry(name).or_insert_with(|| {
            let mut hasher = Hasher::new();
            // Writing to a hasher never fails.
            drop(serde_json::to_writer(&mut hasher, value));
            MeasuredVariable {
                hash: hasher.finalize(),
                bytes: json_length::of(value, MAX_ARGUMENT_BYTES),
            }
        });
        Some(*measured)
    }

    fn arguments(
        &mut self,
        arguments: &'d [Node<ast::Argument>],
        defaults: &VariableDefaults<'d>,
    ) -> Result<Value, DocumentError> {
        let mut all = Map::new();
        for argument in arguments {
            if let Some(value) = self.value(&argument.value, defaults)? {
                self.count_bytes(Some(argument.name.len()))?;
                all.insert(argument.name.to_string(), value);
            }
        }
        self.check_time()?;
        Ok(Value::Object(all))
    }

    /// The value as JSON. `None` for a variable without a value, which omits the argument.
    fn value(
        &mut self,
        value: &'d ast::Value,
        defaults: &VariableDefaults<'d>,
    ) -> Result<Option<Value>, DocumentError> {
        Ok(Some(match value {
            ast::Value::Null => self.counted_value(Value::Null, 4)?,
            ast::Value::Boolean(truth) => self.counted_value((*truth).into(), 5)?,
            ast::Value::String(it) => self.counted_value(it.as_str().into(), it.len())?,
            ast::Value::Enum(name) => self.counted_value(name.as_str().into(), name.len())?,
            ast::Value::Int(it) => {
                self.counted_value(json_number(it.as_str()), it.as_str().len())?
            }
            ast::Value::Float(it) => {
                self.counted_value(json_number(it.as_str()), it.as_str().len())?
            }
            ast::Value::List(items) => {
                self.count_bytes(Some(2))?;
                let mut all = Vec::new();
                for item in items {
                    // In a list, a variable without a value is null.
                    all.push(self.value(item, defaults)?.unwrap_or_default());
                }
                Value::Array(all)
            }
            ast::Value::Object(members) => {
                self.count_bytes(Some(2))?;
                let mut all = Map::new();
                for (name, value) in members {
                    if let Some(value) = self.value(value, defaults)? {
                        self.count_bytes(Some(name.len()))?;
                        all.insert(name.to_string(), value);
                    }
                }
                Value::Object(all)
            }
            ast::Value::Variable(name) => {
                let name = name.as_str();
                if let Some(measured) = self.measure_variable(name) {
                    self.count_bytes(measured.bytes)?;
                    return Ok(self.given.get(name).cloned());
                }
                return match defaults.values.get(name) {
                    Some(default) => self.value(default, &VariableDefaults::default()),
                    None => Ok(None),
                };
            }
        }))
    }

    fn counted_value(&mut self, value: Value, bytes: usize) -> Result<Value, DocumentError> {
        self.count_bytes(Some(bytes)).map(|()| value)
    }

    /// Adds to the budget, before anything is copied.
    fn count_bytes(&mut self, bytes: Option<usize>) -> Result<(), DocumentError> {
        let bytes = bytes.map(|bytes| self.bytes + bytes + 1);
        match bytes.filter(|bytes| *bytes <= MAX_ARGUMENT_BYTES) {
            Some(bytes) => {
                self.bytes = bytes;
                Ok(())
            }
            None => Err(DocumentError::limit(
                "the arguments that rules look at are too long, with a variable counted at each use",
                "max_argument_bytes",
                format_args!("{MAX_ARGUMENT_BYTES} bytes"),
            )),
        }
    }
}

fn hash_text(hasher: &mut Hasher, text: &str) {
    hasher.update(&text.len().to_le_bytes());
    hasher.update(text.as_bytes());
}

/// A number of any size, or a string if it is not a JSON number.
fn json_number(text: &str) -> Value {
    let read = text.parse::<serde_json::Number>().ok();
    read.map_or_else(|| text.into(), Value::Number)
}
