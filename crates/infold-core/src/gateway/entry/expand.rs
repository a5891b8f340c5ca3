//! Variables in entries: `${VAR}` is its value, `${VAR:-text}` its value or else the text. `$VAR` and what only looks
//! like a variable stay as they are, as in the clients that the form comes from.

use super::{EntryProblem, LoginHints, NamedValues, ServerEntry, ServerWay};

/// Bytes that one text may grow to.
const EXPANDED_BYTES_MAX: usize = 64 * 1024;

impl ServerEntry {
    /// The entry with variables replaced by what `variable` gives for their names, and checked. A variable that is not
    /// set is a problem, because a server that is started without its key fails in a way that nobody understands.
    pub fn expanded(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<EntryProblem>> {
        let mut expander = Expander { variable, problems: Vec::new() };
        let way = match &self.way {
            ServerWay::Child { program, arguments, variables, inherited, folder } => ServerWay::Child {
                program: expander.text(program),
                arguments: arguments.iter().map(|argument| expander.text(argument)).collect(),
                variables: expander.values(variables),
                inherited: inherited.clone(),
                folder: folder.as_ref().map(|folder| expander.text(folder)),
            },
            ServerWay::Http { url, headers, helper, login } => ServerWay::Http {
                url: expander.text(url),
                headers: expander.values(headers),
                helper: helper.clone(),
                login: LoginHints {
                    client_secret: login.client_secret.as_ref().map(|secret| expander.text(secret)),
                    ..login.clone()
                },
            },
        };

        let entry = Self { way, ..self.clone() };
        let mut problems = expander.problems;
        if problems.is_empty() {
            problems = entry.problems();
        }
        if problems.is_empty() { Ok(entry) } else { Err(problems) }
    }
}

struct Expander<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<EntryProblem>,
}

impl Expander<'_> {
    fn values(&mut self, values: &NamedValues) -> NamedValues {
        NamedValues(values.0.iter().map(|(name, value)| (name.clone(), self.text(value))).collect())
    }

    fn text(&mut self, text: &str) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, opened)) = rest.split_once("${").filter(|_| expanded.len() <= EXPANDED_BYTES_MAX) {
            expanded.push_str(before);
            match opened.split_once('}').map(|(inside, after)| (named(inside), after)) {
                Some((Some((name, default)), after)) => {
                    expanded.push_str(&self.value(name, default));
                    rest = after;
                }
                Some((None, _)) | None => {
                    expanded.push_str("${");
                    rest = opened;
                }
            }
        }
        expanded.push_str(rest);
        if expanded.len() > EXPANDED_BYTES_MAX {
            self.add(EntryProblem::TooLong { bytes_max: EXPANDED_BYTES_MAX });
        }
        expanded
    }

    /// A value is put in as it is: what looks like a variable in it is none.
    fn value(&mut self, name: &str, default: Option<&str>) -> String {
        match ((self.variable)(name), default) {
            (Some(value), _) => value,
            (None, Some(default)) => default.to_owned(),
            (None, None) => {
                self.add(EntryProblem::Unset { variable: name.to_owned() });
                String::new()
            }
        }
    }

    fn add(&mut self, problem: EntryProblem) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// The name of a variable and what it is by default; `None` if this is no variable.
fn named(inside: &str) -> Option<(&str, Option<&str>)> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, default))
}
