//! Writes servers into the user's settings file. What is there stays as it is, byte for byte; a server whose name is
//! there already is not written again.

use std::fs::DirBuilder;
use std::path::Path;

use anyhow::Context;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use super::ImportedServer;
use crate::connect::real_path;
use crate::failure::Refused;
use crate::run::read_text;
use crate::settings::FILE_MAX_BYTES;
use crate::whole_file::{self, IfThere};

/// What became of servers that were to be written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AddedServers {
    /// Names of those that are new.
    pub added: Vec<String>,
    /// Names that the file had already.
    pub known: Vec<String>,
    /// The file's new text; `None` if nothing is new.
    text: Option<String>,
}

/// Plans how servers are added to a settings file that may not exist yet.
pub fn add_servers(path: &Path, servers: &[ImportedServer]) -> Result<AddedServers, Refused> {
    let text = read_text(path)?.unwrap_or_default();
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        Refused::new(format!("{} is not TOML: {}", path.display(), error.message())).hint("fix the file first")
    })?;
    let odd = || {
        Refused::new(format!("`gateway.servers` in {} is not a list of tables", path.display()))
            .hint("fix the file first; nothing was changed")
    };
    let list = list_in(&mut document).ok_or_else(odd)?;
    let mut planned = AddedServers::default();
    for server in servers {
        let name = server.entry.key.as_str();
        if list.has(name) || planned.added.iter().any(|added| added == name) {
            planned.known.push(name.to_owned());
        } else {
            planned.added.push(name.to_owned());
        }
    }
    let new = |server: &&ImportedServer| planned.added.iter().any(|name| name == server.entry.key.as_str());
    list.extend(servers.iter().filter(new)).ok_or_else(odd)?;
    if !planned.added.is_empty() {
        planned.text = Some(document.to_string());
    }
    Ok(planned)
}

impl AddedServers {
    /// Writes the file, for the user only.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let Some(text) = &self.text else { return Ok(()) };
        if text.len() as u64 > FILE_MAX_BYTES {
            let problem = format!("{} would be longer than {FILE_MAX_BYTES} bytes", path.display());
            return Err(Refused::new(problem).hint("take fewer servers").into());
        }
        let path = real_path(path);
        if let Some(folder) = path.parent() {
            let cannot = || format!("cannot make the folder {}", folder.display());
            DirBuilder::new().recursive(true).create(folder).with_context(cannot)?;
        }
        // The new file is for the user only, whatever the old one was: it may hold keys from now on.
        whole_file::write(&path, IfThere::Replace, |file| Ok(file.write_all(text.as_bytes())?))
    }
}

/// The list of servers in a document, in whichever form it was written.
enum ServerList<'a> {
    /// Sections of their own.
    Sections(&'a mut ArrayOfTables),
    /// One line, or several in brackets.
    Inline(&'a mut Array),
}

/// The list of servers, made if it is not there; `None` if something else is in its place.
fn list_in(document: &mut DocumentMut) -> Option<ServerList<'_>> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let gateway = document.entry("gateway").or_insert_with(implicit).as_table_like_mut()?;
    match gateway.entry("servers").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new())) {
        Item::ArrayOfTables(sections) => Some(ServerList::Sections(sections)),
        Item::Value(Value::Array(list)) => Some(ServerList::Inline(list)),
        Item::Value(_) | Item::Table(_) | Item::None => None,
    }
}

impl ServerList<'_> {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::Sections(sections) => {
                sections.iter().any(|table| table.get("name").and_then(Item::as_str) == Some(name))
            }
            Self::Inline(list) => {
                let mut tables = list.iter().filter_map(Value::as_inline_table);
                tables.any(|table| table.get("name").and_then(Value::as_str) == Some(name))
            }
        }
    }

    fn extend<'s>(self, servers: impl Iterator<Item = &'s ImportedServer>) -> Option<()> {
        match self {
            Self::Sections(sections) => {
                for server in servers {
                    let mut table = Table::new();
                    for (name, value) in in_order(server) {
                        table.insert(name, Item::Value(edited(value)?));
                    }
                    sections.push(table);
                }
            }
            Self::Inline(list) => {
                for server in servers {
                    let mut table = InlineTable::new();
                    for (name, value) in in_order(server) {
                        table.insert(name, edited(value)?);
                    }
                    let mut value = Value::InlineTable(table);
                    value.decor_mut().set_prefix("\n    ");
                    list.push_formatted(value);
                }
                list.set_trailing_comma(true);
                list.set_trailing("\n");
            }
        }
        Some(())
    }
}

/// The fields of a server in the order in which people read them: its name, how it is reached, and the rest.
fn in_order(server: &ImportedServer) -> Vec<(&String, &toml::Value)> {
    let first = ["name", "command", "args", "url"];
    let mut fields: Vec<_> = server.fields.iter().collect();
    fields.sort_by_key(|(field, _)| first.iter().position(|name| *name == field.as_str()).unwrap_or(first.len()));
    fields
}

fn edited(value: &toml::Value) -> Option<Value> {
    value.to_string().parse().ok()
}
