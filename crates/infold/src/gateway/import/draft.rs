//! An entry of a client on its way into infold's form. Every field is taken, or named with the reason why it is not.

use infold_core::gateway::EntryProblem;
use serde_json::{Map, Value};
use toml::Table;

/// A field that infold cannot honour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedField {
    /// The field, as the client spells it.
    pub field: String,
    /// Why, or what infold does instead.
    pub why: String,
}

/// An entry in the making.
#[derive(Debug, Default)]
pub struct EntryDraft {
    /// Fields in infold's form.
    pub fields: Table,
    /// Fields that infold cannot honour.
    pub dropped: Vec<DroppedField>,
    theirs: Map<String, Value>,
}

impl EntryDraft {
    /// Begins with an entry as its client has it; what is wrong if it is no object.
    pub fn new(entry: &Value) -> Result<Self, String> {
        let theirs = entry.as_object().ok_or("its entry is not an object")?.clone();
        Ok(Self { theirs, ..Self::default() })
    }

    /// The entry of a server that is not used.
    pub fn switched_off(mut self) -> Self {
        self.set("enabled", false);
        self
    }

    /// Sets the name.
    pub fn name(&mut self, name: &str) {
        self.fields.insert("name".to_owned(), name.into());
    }

    /// A field that decides how the others are read; it counts as taken.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        self.theirs.remove(field).filter(|value| !value.is_null())
    }

    /// Whether the client's entry has a field.
    pub fn has(&self, field: &str) -> bool {
        self.peek(field).is_some()
    }

    /// A field of the client's entry, which stays to be taken.
    pub fn peek(&self, field: &str) -> Option<&Value> {
        self.theirs.get(field).filter(|value| !value.is_null())
    }

    /// Sets a field of infold's.
    pub fn set(&mut self, ours: &str, value: impl Into<toml::Value>) {
        self.fields.insert(ours.to_owned(), value.into());
    }

    /// Names a field that infold cannot honour.
    pub fn drop(&mut self, field: impl Into<String>, why: impl Into<String>) {
        self.dropped.push(DroppedField { field: field.into(), why: why.into() });
    }

    /// Leaves fields out, if the entry has them.
    pub fn leave(&mut self, fields: &[(&str, &str)]) {
        for (field, why) in fields {
            if self.take(field).is_some() {
                self.drop(*field, *why);
            }
        }
    }

    /// A field that is to be text, taken out.
    pub fn take_text(&mut self, field: &str) -> Option<String> {
        match self.take(field)? {
            Value::String(text) => Some(text),
            _ => {
                self.drop(field, "it is not text");
                None
            }
        }
    }

    /// A field that is to be a list of texts, taken out.
    pub fn take_texts(&mut self, field: &str) -> Option<Vec<String>> {
        let texts = texts_in(&self.take(field)?);
        if texts.is_none() {
            self.drop(field, "it is not a list of texts");
        }
        texts
    }

    /// A field that is to be an object of texts, taken out. A value that is no text is left out.
    pub fn take_values(&mut self, field: &str) -> Vec<(String, String)> {
        let values = match self.take(field) {
            Some(Value::Object(values)) => values,
            Some(_) => {
                self.drop(field, "it is not an object of texts");
                return Vec::new();
            }
            None => return Vec::new(),
        };
        let mut texts = Vec::new();
        for (name, value) in values {
            match value {
                Value::String(text) => texts.push((name, text)),
                _ => self.drop(format!("{field}.{name}"), "it is not text"),
            }
        }
        texts
    }

    /// Takes a text over.
    pub fn text(&mut self, theirs: &str, ours: &str) {
        if let Some(text) = self.take_text(theirs) {
            self.set(ours, text);
        }
    }

    /// Takes a list of texts over.
    pub fn texts(&mut self, theirs: &str, ours: &str) {
        if let Some(texts) = self.take_texts(theirs) {
            self.set(ours, texts);
        }
    }

    /// Takes names with texts over, and adds them to those that are there.
    pub fn values(&mut self, theirs: &str, ours: &str) {
        for (name, text) in self.take_values(theirs) {
            self.value(ours, &name, text);
        }
    }

    /// Adds a name with its text to a field of infold's.
    pub fn value(&mut self, ours: &str, name: &str, text: String) {
        let values = self.fields.entry(ours).or_insert_with(|| Table::new().into());
        if let toml::Value::Table(values) = values {
            values.insert(name.to_owned(), text.into());
        }
    }

    /// Takes a switch.
    pub fn flag(&mut self, theirs: &str) -> Option<bool> {
        match self.take(theirs) {
            Some(Value::Bool(flag)) => Some(flag),
            Some(_) => {
                self.drop(theirs, "it is neither true nor false");
                None
            }
            None => None,
        }
    }

    /// Takes a time, of which one unit has this many milliseconds.
    pub fn time(&mut self, theirs: &str, ours: &str, unit_ms: f64) {
        let Some(value) = self.take(theirs) else { return };
        match value.as_f64().map(|number| (number * unit_ms).round()).filter(|ms| (1.0..=86_400_000.0).contains(ms)) {
            Some(ms) => self.set(ours, ms as i64),
            None => self.drop(theirs, "infold takes times from a millisecond to a day"),
        }
    }

    /// Takes what is known of a login: the client's names of the id, the port and the address of the metadata.
    pub fn login(&mut self, theirs: &str, [id, port, metadata]: [&str; 3]) {
        let Some(oauth) = self.take(theirs) else { return };
        let Ok(mut inner) = Self::new(&oauth) else {
            self.drop(theirs, "infold offers a login if the server wants one");
            return;
        };
        inner.text(id, "client_id");
        inner.text(metadata, "metadata_url");
        inner.text("clientSecret", "client_secret");
        inner.text("client_secret", "client_secret");
        inner.leave(&[
            ("redirectUri", "infold makes the address from the port"),
            ("redirect_uri", "infold makes the address from the port"),
        ]);
        match inner.take(port).map(|port| port.as_i64().filter(|port| (1..=65_535).contains(port))) {
            Some(Some(port)) => inner.set("callback_port", port),
            Some(None) => inner.drop(port, "it is no port"),
            None => {}
        }
        for field in ["scopes", "scope"] {
            match inner.take(field) {
                Some(Value::String(scopes)) => inner.set("scopes", words(&scopes)),
                Some(list) => match texts_in(&list) {
                    Some(scopes) => inner.set("scopes", scopes),
                    None => inner.drop(field, "it is not a list of texts"),
                },
                None => {}
            }
        }
        inner.finish();
        let renamed = |dropped: DroppedField| DroppedField { field: format!("{theirs}.{}", dropped.field), ..dropped };
        self.dropped.extend(inner.dropped.into_iter().map(renamed));
        if !inner.fields.is_empty() {
            self.set("oauth", inner.fields);
        }
    }

    /// Leaves out headers that cannot be sent. Many entries have some that every request has in any case.
    pub fn drop_headers(&mut self, problems: &[EntryProblem]) {
        for problem in problems {
            let EntryProblem::Header { shown, problem } = problem else { continue };
            let headers = self.fields.get_mut("headers").and_then(toml::Value::as_table_mut);
            if headers.and_then(|headers| headers.remove(shown)).is_some() {
                self.drop(format!("headers.{shown}"), *problem);
            }
        }
    }

    /// Names every field that is left over.
    pub fn finish(&mut self) {
        for (field, value) in std::mem::take(&mut self.theirs) {
            if !value.is_null() {
                self.drop(field, "infold does not know it");
            }
        }
    }
}

/// The texts of a list; `None` if something else is in it.
fn texts_in(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
