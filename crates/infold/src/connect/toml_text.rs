//! Changes in TOML that leave every other byte alone. Only texts are ever set.

use std::path::Path;

use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use super::change::{Change, Done, unexpected};
use crate::failure::Refused;

/// Makes the changes, and returns the new text.
pub fn apply(text: &str, changes: &[Change], place: &Path) -> Result<(String, Vec<Done>), Refused> {
    let mut document = parse(text, place)?;
    let mut done = Vec::new();
    for change in changes {
        done.push(make(&mut document, change).ok_or_else(|| unexpected(place, change.path()))?);
    }
    Ok((document.to_string(), done))
}

/// Undoes the changes, the last one first.
pub fn undo(text: &str, done: &[Done], place: &Path) -> Result<String, Refused> {
    let mut document = parse(text, place)?;
    for done in done.iter().rev() {
        // What somebody else has removed or changed need not be undone.
        let _ = take_back(document.as_table_mut(), done, done.change.path());
    }
    Ok(document.to_string())
}

fn parse(text: &str, place: &Path) -> Result<DocumentMut, Refused> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        Refused::new(format!("{} is not TOML: {}", place.display(), error.message()))
            .hint("fix the file first; nothing was changed")
    })
}

/// Makes one change; `None` if a value on the way is not a table, or the value itself is not a text.
fn make(document: &mut DocumentMut, change: &Change) -> Option<Done> {
    let Change::Set { path, value: Value::String(wanted) } = change else { return None };
    let (last, way) = path.split_last()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut made = 0;
    for (depth, name) in way.iter().enumerate() {
        made = if table.contains_key(name) { 0 } else { made + 1 };
        let is_last = depth + 1 == way.len();
        let fresh = || {
            let mut table = Table::new();
            // A table that only leads to others needs no line of its own.
            table.set_implicit(!is_last);
            Item::Table(table)
        };
        table = table.entry(name).or_insert_with(fresh).as_table_like_mut()?;
    }
    let before = match table.get(last) {
        None => None,
        Some(found) => Some(Value::String(found.as_str()?.to_owned())),
    };
    put(table, last, wanted);
    Some(Done { change: change.clone(), before, made })
}

/// Sets a text, and keeps the comment after it on its line.
fn put(table: &mut dyn TableLike, name: &str, wanted: &str) {
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(found) => {
            let decor = found.decor().clone();
            *found = wanted.into();
            *found.decor_mut() = decor;
        }
        None => {
            table.insert(name, value(wanted));
        }
    }
}

fn take_back(table: &mut dyn TableLike, done: &Done, way: &[String]) -> Option<()> {
    let (name, rest) = way.split_first()?;
    if !rest.is_empty() {
        let inner = table.get_mut(name)?.as_table_like_mut()?;
        take_back(inner, done, rest)?;
        // Tables that were created for the change are removed, too, once they are empty.
        if rest.len() <= done.made && inner.is_empty() {
            table.remove(name);
        }
        return Some(());
    }
    let Change::Set { value: Value::String(ours), .. } = &done.change else { return None };
    if table.get(name)?.as_str()? != ours {
        return None;
    }
    match &done.before {
        Some(Value::String(before)) => put(table, name, before),
        _ => {
            table.remove(name);
        }
    }
    Some(())
}
