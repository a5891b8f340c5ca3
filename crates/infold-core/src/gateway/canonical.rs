//! JSON in one spelling, so that equal values have equal hashes: keys in order, no spaces, and whole numbers without
//! a fraction.

use serde_json::Value;

#[cfg(test)]
mod tests;

/// Whole numbers up to this size are the same as integers and as fractions.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The value in one spelling.
pub fn write_canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// How deep a value is nested; a plain one is at 1. It counts without recursion, because it guards what has some.
pub fn depth_of(value: &Value) -> usize {
    let mut deepest = 0;
    let mut rest = vec![(value, 1)];
    while let Some((value, depth)) = rest.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => rest.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => rest.extend(fields.values().map(|field| (field, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    deepest
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(at, text);
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (at, (name, field)) in fields.into_iter().enumerate() {
                separate(at, text);
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(field, text);
            }
            text.push('}');
        }
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < EXACT_MAX => {
                text.push_str(&(whole as i64).to_string());
            }
            _ => text.push_str(&number.to_string()),
        },
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

fn separate(at: usize, text: &mut String) {
    if at > 0 {
        text.push(',');
    }
}
