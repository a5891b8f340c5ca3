//! One server of `[[gateway.servers]]`, read field by field.
//!
//! Values of variables, headers and arguments may be secrets, so messages name fields and never what is in them. That is
//! why a server is not read by derived code: its messages repeat values.

use std::ops::RangeInclusive;

use infold_core::gateway::{
    HintTrust, LoginHints, NamedValues, Rights, RightsAction, RightsRule, RightsSource, ServerKind, ServerWay, Sharing,
};
use serde::Deserialize;
use toml::{Table, Value};

/// Fields that servers of both kinds have.
const COMMON: [&str; 12] = [
    "name",
    "prefix",
    "shared",
    "skill",
    "trust_hints",
    "timeout_ms",
    "start_timeout_ms",
    "tools",
    "deny",
    "ask",
    "allow",
    "enabled",
];
/// Fields of a server that is a program.
const OF_PROGRAMS: [&str; 5] = ["command", "args", "env", "env_vars", "cwd"];
/// Fields of a server that has an address.
const OF_ADDRESSES: [&str; 4] = ["url", "headers", "headers_helper", "oauth"];
/// Fields of `oauth`.
const OF_LOGINS: [&str; 5] = ["client_id", "client_secret", "scopes", "callback_port", "metadata_url"];
/// Milliseconds that a server or a call may have: up to a day.
const TIMEOUT_MS: RangeInclusive<i64> = 1..=24 * 60 * 60 * 1_000;

/// A server as the user wrote it down.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Table")]
pub struct GatewayServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub way: ServerWay,
    /// What the names of its tools begin with, if that was said.
    pub prefix: Option<String>,
    /// How many of it there are.
    pub sharing: Sharing,
    /// What its tools are.
    pub kind: ServerKind,
    /// Whether its word counts for what its tools do.
    pub hints: HintTrust,
    /// How long a call may take, if that was said.
    pub timeout_ms: Option<u64>,
    /// How long its start may take, if that was said.
    pub start_timeout_ms: Option<u64>,
    /// What its tools may do.
    pub rights: Rights,
    /// Whether it is used at all.
    pub is_enabled: bool,
}

impl TryFrom<Table> for GatewayServer {
    type Error = String;

    fn try_from(table: Table) -> Result<Self, String> {
        Self::read(&table).map_err(|problems| problems.join("; "))
    }
}

impl GatewayServer {
    /// Reads a server. Everything that is wrong with its fields is reported at once.
    pub fn read(table: &Table) -> Result<Self, Vec<String>> {
        let mut fields = ServerFields { table, prefix: "", problems: Vec::new() };
        fields.only_known(&[&COMMON[..], &OF_PROGRAMS, &OF_ADDRESSES].concat());
        let server = Self {
            name: fields.text("name").unwrap_or_default(),
            way: fields.way(),
            prefix: fields.text("prefix"),
            sharing: if fields.flag("shared") == Some(true) { Sharing::Shared } else { Sharing::PerProject },
            kind: if fields.flag("skill") == Some(true) { ServerKind::Skill } else { ServerKind::Plain },
            hints: if fields.flag("trust_hints") == Some(false) { HintTrust::Ignored } else { HintTrust::Trusted },
            timeout_ms: fields.number("timeout_ms", TIMEOUT_MS),
            start_timeout_ms: fields.number("start_timeout_ms", TIMEOUT_MS),
            rights: fields.rights(),
            is_enabled: fields.flag("enabled").unwrap_or(true),
        };
        if !table.contains_key("name") {
            fields.problems.push("`name` is missing".to_owned());
        }
        if fields.problems.is_empty() { Ok(server) } else { Err(fields.problems) }
    }
}

/// The fields of a server, and what is wrong with them.
struct ServerFields<'a> {
    table: &'a Table,
    /// What is in front of a field's name in messages.
    prefix: &'static str,
    problems: Vec<String>,
}

impl ServerFields<'_> {
    fn way(&mut self) -> ServerWay {
        match (self.text("command"), self.text("url")) {
            (Some(program), None) => {
                self.none_of(&OF_ADDRESSES, "a server with `url`");
                ServerWay::Child {
                    program,
                    arguments: self.texts("args").unwrap_or_default(),
                    variables: self.values("env"),
                    inherited: self.texts("env_vars").unwrap_or_default(),
                    folder: self.text("cwd"),
                }
            }
            (None, Some(url)) => {
                self.none_of(&OF_PROGRAMS, "a server with `command`");
                let (headers, helper) = (self.values("headers"), self.text("headers_helper"));
                ServerWay::Http { url, headers, helper, login: self.login() }
            }
            (command, _) => {
                let has = if command.is_some() { "both `command` and" } else { "neither `command` nor" };
                // A field of the wrong kind has been reported already.
                if self.problems.is_empty() {
                    self.problems.push(format!("it has {has} `url`: give one of them"));
                }
                ServerWay::Http {
                    url: String::new(),
                    headers: NamedValues::default(),
                    helper: None,
                    login: LoginHints::default(),
                }
            }
        }
    }

    fn login(&mut self) -> LoginHints {
        let Some(Value::Table(table)) = self.table.get("oauth") else {
            self.wrong_unless_absent("oauth", "a table");
            return LoginHints::default();
        };
        let mut fields = ServerFields { table, prefix: "oauth.", problems: Vec::new() };
        fields.only_known(&OF_LOGINS);
        let port = fields.number("callback_port", 1..=i64::from(u16::MAX));
        let login = LoginHints {
            client_id: fields.text("client_id"),
            client_secret: fields.text("client_secret"),
            scopes: fields.texts("scopes").unwrap_or_default(),
            callback_port: port.and_then(|port| u16::try_from(port).ok()),
            metadata_url: fields.text("metadata_url"),
        };
        self.problems.append(&mut fields.problems);
        login
    }

    fn rights(&mut self) -> Rights {
        let only = self.texts("tools");
        let actions = [("deny", RightsAction::Deny), ("ask", RightsAction::Ask), ("allow", RightsAction::Allow)];
        let mut rules = Vec::new();
        for (field, action) in actions {
            let patterns = self.texts(field).unwrap_or_default();
            rules.extend(patterns.into_iter().map(|pattern| RightsRule { pattern, action }));
        }
        let is_empty = only.is_none() && rules.is_empty();
        Rights { sources: if is_empty { Vec::new() } else { vec![RightsSource::Settings { only, rules }] } }
    }

    /// Reports fields that are not known, with those that are.
    fn only_known(&mut self, known: &[&str]) {
        let prefix = self.prefix;
        for name in self.table.keys().filter(|name| !known.contains(&name.as_str())) {
            let known = known.join(", ");
            self.problems.push(format!("unknown field `{prefix}{}`; known are {known}", name.escape_debug()));
        }
    }

    /// Reports fields that are there although they belong to servers of another kind.
    fn none_of(&mut self, fields: &[&str], whose: &str) {
        for field in fields.iter().filter(|field| self.table.contains_key(**field)) {
            self.problems.push(format!("`{field}` is only for {whose}"));
        }
    }

    fn wrong_unless_absent(&mut self, field: &str, wanted: &str) {
        if self.table.contains_key(field) {
            self.problems.push(format!("`{}{field}` must be {wanted}", self.prefix));
        }
    }

    fn text(&mut self, field: &str) -> Option<String> {
        let text = self.table.get(field).and_then(Value::as_str).map(str::to_owned);
        if text.is_none() {
            self.wrong_unless_absent(field, "text in quotes");
        }
        text
    }

    fn texts(&mut self, field: &str) -> Option<Vec<String>> {
        let items = self.table.get(field).and_then(Value::as_array);
        let texts = items.and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        if texts.is_none() {
            self.wrong_unless_absent(field, "a list of texts, such as [\"a\", \"b\"]");
        }
        texts
    }

    fn flag(&mut self, field: &str) -> Option<bool> {
        let flag = self.table.get(field).and_then(Value::as_bool);
        if flag.is_none() {
            self.wrong_unless_absent(field, "true or false");
        }
        flag
    }

    fn number(&mut self, field: &str, range: RangeInclusive<i64>) -> Option<u64> {
        let number = self.table.get(field).and_then(Value::as_integer).filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong_unless_absent(field, &format!("a whole number from {} to {}", range.start(), range.end()));
        }
        number.and_then(|number| u64::try_from(number).ok())
    }

    fn values(&mut self, field: &str) -> NamedValues {
        let values = self.table.get(field).and_then(Value::as_table);
        let named = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        let values: Option<Vec<_>> = values.and_then(|values| values.iter().map(named).collect());
        if values.is_none() {
            self.wrong_unless_absent(field, "a table of texts, such as { NAME = \"value\" }");
        }
        NamedValues(values.unwrap_or_default())
    }
}
