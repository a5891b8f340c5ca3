//! Changes in JSON, with or without comments, that leave every other byte alone.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::change::{Change, Done, unexpected};
use crate::failure::Refused;

/// The text that a file begins with if it does not exist yet.
const EMPTY: &str = "{}\n";

/// Makes the changes, and returns the new text.
pub fn apply(text: &str, changes: &[Change], place: &Path) -> Result<(String, Vec<Done>), Refused> {
    let root = parse(text, place)?;
    let mut done = Vec::new();
    for change in changes {
        done.push(make(&root, change).ok_or_else(|| unexpected(place, change.path()))?);
    }
    Ok((root.to_string(), done))
}

/// Undoes the changes, the last one first.
pub fn undo(text: &str, done: &[Done], place: &Path) -> Result<String, Refused> {
    let root = parse(text, place)?;
    for done in done.iter().rev() {
        // What somebody else has removed or changed need not be undone.
        let _ = take_back(&root, done);
    }
    Ok(root.to_string())
}

fn parse(text: &str, place: &Path) -> Result<CstRootNode, Refused> {
    let text = if text.trim().is_empty() { EMPTY } else { text };
    let cannot = |why: String| {
        Refused::new(format!("{} is not JSON: {why}", place.display())).hint("fix the file first; nothing was changed")
    };
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| cannot(error.to_string()))?;
    root.object_value().map(|_| ()).ok_or_else(|| cannot("it is not an object".to_owned()))?;
    Ok(root)
}

/// Makes one change; `None` if a value on the way is not an object, or not the list that was expected.
fn make(root: &CstRootNode, change: &Change) -> Option<Done> {
    let (last, way) = change.path().split_last()?;
    let mut object = root.object_value()?;
    let mut made = 0;
    for name in way {
        made = if object.get(name).is_none() { made + 1 } else { 0 };
        object = object.object_value_or_create(name)?;
    }
    match change {
        Change::Set { value, .. } => {
            let before = object.get(last).and_then(|found| found.value()?.to_serde_value());
            match object.get(last) {
                Some(found) => found.set_value(input(value)),
                None => {
                    object.append(last, input(value));
                }
            }
            Some(Done { change: change.clone(), before, made })
        }
        Change::Append { value, .. } => {
            made = if object.get(last).is_none() { made + 1 } else { 0 };
            let list = object.array_value_or_create(last)?;
            if !list.elements().iter().any(|item| item.to_serde_value().as_ref() == Some(value)) {
                list.append(input(value));
            }
            Some(Done { change: change.clone(), before: None, made })
        }
    }
}

fn take_back(root: &CstRootNode, done: &Done) -> Option<()> {
    let (last, way) = done.change.path().split_last()?;
    let mut objects: Vec<CstObject> = vec![root.object_value()?];
    for name in way {
        objects.push(objects.last()?.object_value(name)?);
    }
    let object = objects.last()?.clone();
    let found = object.get(last)?;
    let mut made = done.made;
    match &done.change {
        Change::Set { value, .. } => {
            if found.value()?.to_serde_value().as_ref() != Some(value) {
                return None;
            }
            match &done.before {
                Some(before) => found.set_value(input(before)),
                None => found.remove(),
            }
        }
        Change::Append { value, .. } => {
            let list = found.array_value()?;
            let ours = list.elements().into_iter().find(|item| item.to_serde_value().as_ref() == Some(value))?;
            CstNode::remove(ours);
            if made > 0 && list.elements().is_empty() {
                found.remove();
                made -= 1;
            }
        }
    }
    // Objects that were created for the change are removed, too, once they are empty.
    for (parent, name) in objects.iter().zip(way).rev().take(made) {
        let inner = parent.object_value(name)?;
        if inner.properties().is_empty() {
            parent.get(name)?.remove();
        }
    }
    Some(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
