//! Keywords that look at one value and at nothing inside of it: types, numbers and how many there are. One with an odd
//! form restrains nothing.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::problem::{ArgumentWrong, FoundArgument, kind_of, kind_words};

/// Fields that are looked at one by one: that takes less time than to hash a name, as long as there are few.
const FEW_FIELDS_MAX: usize = 16;

/// What a schema says under a keyword. It has few of them, and is asked for many.
pub fn keyword<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if fields.len() > FEW_FIELDS_MAX {
        return fields.get(name);
    }
    fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
}

/// `type`, as one word or several. A type that is not known might be any.
pub fn wrong_type(fields: &Map<String, Value>, value: &Value) -> Option<ArgumentWrong> {
    let kinds = match keyword(fields, "type")? {
        one @ Value::String(_) => std::slice::from_ref(one),
        Value::Array(kinds) => kinds.as_slice(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    if value.is_null() && keyword(fields, "nullable") == Some(&Value::Bool(true)) {
        return None;
    }
    let words: Option<Vec<&'static str>> = kinds.iter().map(|kind| kind_words(kind.as_str()?)).collect();
    let words = words.filter(|words| !words.is_empty())?;
    let is_fitting = |kind: &Value| match kind.as_str() {
        Some("integer") => is_whole(value),
        Some(kind) => kind == kind_of(value),
        None => true,
    };
    (!kinds.iter().any(is_fitting)).then(|| ArgumentWrong::Kind { kinds: words, found: FoundArgument::of(value) })
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// A lower and an upper bound of how many there are.
pub fn wrong_count(
    fields: &Map<String, Value>,
    [least, most]: [&str; 2],
    count: usize,
    things: &'static str,
) -> impl Iterator<Item = ArgumentWrong> {
    let bound = |name: &str| keyword(fields, name).filter(|bound| bound.is_number());
    let number = |bound: &&Value| bound.as_f64().unwrap_or_default();
    let too_few = bound(least).filter(|least| (count as f64) < number(least)).map(|least| format!("at least {least}"));
    let too_many = bound(most).filter(|most| (count as f64) > number(most)).map(|most| format!("at most {most}"));
    let words = too_few.or(too_many).map(|words| format!("have {words} {things}"));
    words.map(|expected| ArgumentWrong::Rule { expected, found: FoundArgument::Count(count) }).into_iter()
}

/// Bounds of a number. In an older draft `exclusiveMinimum` is a yes or no about `minimum`.
pub fn wrong_numbers(fields: &Map<String, Value>, value: &Value) -> impl Iterator<Item = ArgumentWrong> {
    let bound = |name: &str| keyword(fields, name).filter(|bound| bound.is_number());
    let is_exclusive = |name: &str| keyword(fields, name) == Some(&Value::Bool(true));
    let compare = |bound: &Value| compare_numbers(value, bound);
    let least = bound("exclusiveMinimum").or_else(|| bound("minimum").filter(|_| is_exclusive("exclusiveMinimum")));
    let most = bound("exclusiveMaximum").or_else(|| bound("maximum").filter(|_| is_exclusive("exclusiveMaximum")));
    let below = bound("minimum").filter(|least| compare(least).is_lt()).map(|least| format!("be at least {least}"));
    let above = bound("maximum").filter(|most| compare(most).is_gt()).map(|most| format!("be at most {most}"));
    let not_above = least.filter(|least| compare(least).is_le()).map(|least| format!("be more than {least}"));
    let not_below = most.filter(|most| compare(most).is_ge()).map(|most| format!("be less than {most}"));
    let found = FoundArgument::of(value);
    let words = not_above.or(below).into_iter().chain(not_below.or(above));
    words.map(move |expected| ArgumentWrong::Rule { expected, found: found.clone() })
}

/// Compares two numbers; whole ones exactly.
fn compare_numbers(one: &Value, other: &Value) -> Ordering {
    let whole = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => one.as_f64().unwrap_or_default().total_cmp(&other.as_f64().unwrap_or_default()),
    }
}
