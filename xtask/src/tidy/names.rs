//! One name, one thing: a type's name says what it is without its module, so no name may serve three types.

use std::collections::BTreeMap;

use syn::Item;

use super::source_file::SourceFile;

#[cfg(test)]
mod tests;

/// Two types may share a name where a border has both sides of one thing; three are a riddle.
const TYPES_MAX: usize = 2;

/// Names of types that serve too many of them, in all code but tests.
pub fn problems<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in files {
        let Ok(parsed) = file.parsed() else { continue };
        for name in type_names(&parsed.items) {
            places.entry(name).or_default().push(&file.path);
        }
    }
    let many = places.into_iter().filter(|(_, places)| places.len() > TYPES_MAX);
    many.map(|(name, places)| format!("`{name}` is {} types: {}", places.len(), places.join(", "))).collect()
}

fn type_names(items: &[Item]) -> Vec<String> {
    let mut names = Vec::new();
    for item in items {
        match item {
            Item::Struct(item) => names.push(item.ident.to_string()),
            Item::Enum(item) => names.push(item.ident.to_string()),
            Item::Trait(item) => names.push(item.ident.to_string()),
            Item::Type(item) => names.push(item.ident.to_string()),
            Item::Mod(module) => names.extend(module.content.iter().flat_map(|(_, items)| type_names(items))),
            _ => {}
        }
    }
    names
}
