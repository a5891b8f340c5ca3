//! Arguments of a call against the schema of its target: everything that is wrong, at once, in words that a model can
//! act on.
//!
//! The target's server checks for itself, so this only has to help, and must never be in the way: a keyword that is
//! not known here, or has an odd form, restrains nothing. For the same reason several alternatives of a `oneOf` may fit.
//! Schemas come from anybody: the work is counted, and what is not looked at when it is used up is allowed.
//!
//! Why this is not the crate `jsonschema` (0.47): it checks a schema before it uses it and refuses one with a keyword of
//! an odd form, its work has no bound of the caller's, and it has eighteen direct dependencies without any feature.

mod pattern;
mod plain;
mod problem;

#[cfg(test)]
mod tests;

pub use problem::{ArgumentProblem, ArgumentWrong, FoundArgument, refuse_arguments};

use serde_json::{Map, Value};

use pattern::Patterns;
use plain::{keyword, wrong_count, wrong_numbers, wrong_type};
use problem::shown_value;

/// Bytes of a text that count as one step of work.
const STEP_BYTES: usize = 1_024;

/// Choices and names that are kept of one problem; one more than is shown.
const CHOICES_MAX: usize = 11;

/// Bytes of a pointer, and characters of one name in it. What is deeper has the pointer of what it is in.
const POINTER_BYTES_MAX: usize = 1_000;

/// How much work a check may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaBounds {
    /// Parts of the schema that are held against parts of the arguments.
    pub steps_max: usize,
    /// How deep schemas may be nested, references included.
    pub depth_max: usize,
    /// Problems that are looked for.
    pub problems_max: usize,
}

impl SchemaBounds {
    /// Enough for any schema that a person has written.
    pub const USUAL: Self = Self { steps_max: 50_000, depth_max: 64, problems_max: 20 };
}

/// Everything that is wrong with the arguments, in the order of the schema.
pub fn problems_of(arguments: &Value, schema: &Value, bounds: &SchemaBounds) -> Vec<ArgumentProblem> {
    // Before 2019, what is beside a reference meant nothing.
    let named_draft = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let mut check = Check {
        root: schema,
        references_exclude: named_draft.contains("draft-0"),
        steps_left: bounds.steps_max,
        bounds: *bounds,
        patterns: Patterns::default(),
    };
    let mut problems = check.look(schema, arguments, &Place { pointer: String::new(), depth: 0 });
    let mut unique: Problems = Vec::new();
    problems.retain(|problem| {
        !unique.contains(problem) && {
            unique.push(problem.clone());
            true
        }
    });
    problems.truncate(bounds.problems_max);
    problems
}

/// Where the check is.
struct Place {
    /// The part of the arguments.
    pointer: String,
    /// How deep the schema is.
    depth: usize,
}

impl Place {
    fn child(&self, name: &str) -> Self {
        if self.pointer.len() > POINTER_BYTES_MAX {
            return self.same();
        }
        let name: String = name.chars().take(POINTER_BYTES_MAX).collect();
        let name = name.replace('~', "~0").replace('/', "~1");
        Self { pointer: format!("{}/{name}", self.pointer), depth: self.depth + 1 }
    }

    fn same(&self) -> Self {
        Self { pointer: self.pointer.clone(), depth: self.depth + 1 }
    }
}

struct Check<'a> {
    root: &'a Value,
    references_exclude: bool,
    steps_left: usize,
    bounds: SchemaBounds,
    patterns: Patterns,
}

type Problems = Vec<ArgumentProblem>;

impl<'a> Check<'a> {
    /// Takes work off what is left; `false` if there is none.
    fn spend(&mut self, steps: usize) -> bool {
        let enough = self.steps_left >= steps;
        self.steps_left = self.steps_left.saturating_sub(steps);
        enough
    }

    /// Whether there is no work left, or nobody will read what else is found.
    fn is_done(&self, problems: &Problems) -> bool {
        self.steps_left == 0 || problems.len() >= self.bounds.problems_max
    }

    fn look(&mut self, schema: &'a Value, value: &Value, place: &Place) -> Problems {
        if place.depth > self.bounds.depth_max || !self.spend(1) {
            return Vec::new();
        }
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => return vec![place.wrong(ArgumentWrong::Unwanted)],
            _ => return Vec::new(),
        };
        let mut problems = Vec::new();
        if let Some(target) = self.referred(fields) {
            problems = self.look(target, value, &place.same());
            if self.references_exclude {
                return problems;
            }
        }
        // What has another type fails everything else too, and one problem says it.
        if let Some(wrong) = wrong_type(fields, value) {
            problems.push(place.wrong(wrong));
            return problems;
        }
        problems.extend(self.choices(fields, value).map(|wrong| place.wrong(wrong)));
        match value {
            Value::Object(object) => problems.extend(self.object(fields, object, place)),
            Value::Array(items) => problems.extend(self.list(fields, items, place)),
            Value::String(text) => problems.extend(self.text(fields, text).into_iter().map(|wrong| place.wrong(wrong))),
            Value::Number(_) => problems.extend(wrong_numbers(fields, value).map(|wrong| place.wrong(wrong))),
            Value::Null | Value::Bool(_) => {}
        }
        for branch in list_of(fields, "allOf") {
            if self.is_done(&problems) {
                break;
            }
            problems.extend(self.look(branch, value, &place.same()));
        }
        for name in ["anyOf", "oneOf"] {
            problems.extend(self.forms(list_of(fields, name), value, place));
        }
        problems
    }

    /// What a reference inside of this schema leads to.
    fn referred(&self, fields: &'a Map<String, Value>) -> Option<&'a Value> {
        let pointer = keyword(fields, "$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    /// `enum` and `const`.
    fn choices(&mut self, fields: &'a Map<String, Value>, value: &Value) -> Option<ArgumentWrong> {
        let constant = keyword(fields, "const").map(std::slice::from_ref);
        let choices = constant.or_else(|| keyword(fields, "enum").and_then(Value::as_array).map(Vec::as_slice))?;
        if choices.is_empty() || choices.iter().any(|choice| self.is_same(choice, value)) {
            return None;
        }
        let choices = choices.iter().take(CHOICES_MAX).map(shown_value).collect();
        Some(ArgumentWrong::Choice { choices, found: FoundArgument::of(value) })
    }

    /// Whether two values are the same; also if there is no work left to find out.
    fn is_same(&mut self, one: &Value, other: &Value) -> bool {
        if !self.spend(1) {
            return true;
        }
        match (one, other) {
            (Value::String(one), Value::String(other)) => {
                !self.spend(one.len().min(other.len()) / STEP_BYTES) || one == other
            }
            (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| self.is_same(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                let mut fields = one.iter();
                one.len() == other.len()
                    && fields.all(|(name, one)| other.get(name).is_some_and(|other| self.is_same(one, other)))
            }
            _ => one == other,
        }
    }

    fn object(&mut self, fields: &'a Map<String, Value>, object: &Map<String, Value>, place: &Place) -> Problems {
        let count = wrong_count(fields, ["minProperties", "maxProperties"], object.len(), "properties");
        let mut problems: Problems = count.map(|wrong| place.wrong(wrong)).collect();
        for name in list_of(fields, "required").iter().filter_map(Value::as_str) {
            if self.is_done(&problems) || !self.spend(1) {
                return problems;
            }
            if !object.contains_key(name) {
                let schema = keyword(fields, "properties").and_then(|properties| properties.get(name));
                let expected = schema.and_then(|schema| self.expected(schema));
                problems.push(place.child(name).wrong(ArgumentWrong::Missing { expected }));
            }
        }
        let keywords = ["properties", "patternProperties", "additionalProperties"];
        // An object may be large: it is gone through only where a schema says something about what is in it.
        if keywords.iter().any(|name| keyword(fields, name).is_some()) {
            for (name, value) in object {
                if self.is_done(&problems) || !self.spend(1) {
                    return problems;
                }
                problems.extend(self.property(fields, name, value, &place.child(name)));
            }
        }
        problems
    }

    fn property(&mut self, fields: &'a Map<String, Value>, name: &str, value: &Value, place: &Place) -> Problems {
        let properties = keyword(fields, "properties").and_then(Value::as_object);
        let own = properties.and_then(|properties| properties.get(name));
        let mut problems = own.map(|schema| self.look(schema, value, place)).unwrap_or_default();
        let mut is_known = own.is_some();
        for (pattern, schema) in keyword(fields, "patternProperties").and_then(Value::as_object).into_iter().flatten() {
            match self.fits(pattern, name) {
                Some(true) => {
                    is_known = true;
                    problems.extend(self.look(schema, value, place));
                }
                // A pattern that cannot be read might fit.
                None => is_known = true,
                Some(false) => {}
            }
        }
        match keyword(fields, "additionalProperties") {
            Some(Value::Bool(false)) if !is_known => {
                let known = properties.into_iter().flat_map(Map::keys).take(CHOICES_MAX).cloned().collect();
                problems.push(place.wrong(ArgumentWrong::Unknown { known }));
            }
            Some(schema @ Value::Object(_)) if !is_known => problems.extend(self.look(schema, value, place)),
            _ => {}
        }
        problems
    }

    fn list(&mut self, fields: &'a Map<String, Value>, items: &[Value], place: &Place) -> Problems {
        let count = wrong_count(fields, ["minItems", "maxItems"], items.len(), "items");
        let mut problems: Problems = count.map(|wrong| place.wrong(wrong)).collect();
        // An older draft has the list of schemas under `items`, and those of the rest under `additionalItems`.
        let (first, rest) = match keyword(fields, "items") {
            Some(Value::Array(first)) => (first.as_slice(), keyword(fields, "additionalItems")),
            rest => (list_of(fields, "prefixItems"), rest),
        };
        for (at, item) in items.iter().enumerate() {
            let Some(schema) = first.get(at).or(rest) else { break };
            if self.is_done(&problems) {
                break;
            }
            problems.extend(self.look(schema, item, &place.child(&at.to_string())));
        }
        problems
    }

    fn text(&mut self, fields: &Map<String, Value>, text: &str) -> Vec<ArgumentWrong> {
        if !self.spend(text.len() / STEP_BYTES) {
            return Vec::new();
        }
        let mut wrong: Vec<ArgumentWrong> = Vec::new();
        if ["minLength", "maxLength"].iter().any(|name| keyword(fields, name).is_some()) {
            wrong.extend(wrong_count(fields, ["minLength", "maxLength"], text.chars().count(), "characters"));
        }
        let pattern = keyword(fields, "pattern").and_then(Value::as_str);
        if let Some(pattern) = pattern.filter(|pattern| self.fits(pattern, text) == Some(false)) {
            let expected = format!("match the pattern {}", shown_value(&Value::from(pattern)));
            wrong.push(ArgumentWrong::Rule { expected, found: FoundArgument::of(&Value::from(text)) });
        }
        wrong
    }

    /// Whether a text fits a pattern; `None` if the pattern cannot be read, or not in time.
    fn fits(&mut self, pattern: &str, text: &str) -> Option<bool> {
        let cost = Patterns::cost(pattern, text);
        if self.spend(cost) { self.patterns.fits(pattern, text) } else { None }
    }

    /// `anyOf` and `oneOf`: one form must fit. If none does, the problems of the nearest are said.
    fn forms(&mut self, forms: &'a [Value], value: &Value, place: &Place) -> Problems {
        let mut tried: Vec<Problems> = Vec::new();
        for form in forms {
            let problems = self.look(form, value, &place.same());
            if problems.is_empty() {
                return Vec::new();
            }
            tried.push(problems);
        }
        problem::nearest(tried, &place.pointer)
    }

    /// What an argument that is missing should be.
    fn expected(&self, schema: &'a Value) -> Option<String> {
        let fields = schema.as_object()?;
        let fields = self.referred(fields).and_then(Value::as_object).unwrap_or(fields);
        problem::expected_words(fields)
    }
}

impl Place {
    fn wrong(&self, wrong: ArgumentWrong) -> ArgumentProblem {
        ArgumentProblem { pointer: self.pointer.clone(), wrong }
    }
}

fn list_of<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    keyword(fields, name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
