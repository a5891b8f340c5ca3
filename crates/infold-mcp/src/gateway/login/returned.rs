//! What the browser comes back with: an address that has a code or a refusal in it, and the state that shows that it
//! belongs to this login.

use std::fmt;

use reqwest::Url;

/// Characters that are shown of what an authorisation server says.
const SAID_CHARS_MAX: usize = 200;

/// What the user's browser came back with.
#[derive(Clone, PartialEq, Eq)]
pub enum LoginReturn {
    /// It belongs to another login, or to none.
    NotOurs,
    /// The login was refused, by the user or the server; in its words.
    Denied(String),
    /// The user has agreed.
    Agreed {
        /// What is exchanged for tokens.
        code: String,
        /// Who says so, if that is said.
        issuer: Option<String>,
    },
}

/// A code is as good as a token for a moment.
impl fmt::Debug for LoginReturn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotOurs => "NotOurs",
            Self::Denied(_) => "Denied",
            Self::Agreed { .. } => "Agreed",
        })
    }
}

impl LoginReturn {
    /// Reads the address that the browser came back to, whole or from its path on.
    pub(super) fn read(address: &str, state: &str) -> Self {
        let base = Url::parse("http://127.0.0.1/").ok();
        let Some(url) = base.and_then(|base| base.join(address.trim()).ok()) else { return Self::NotOurs };
        let field = |name: &str| {
            let mut found = url.query_pairs().filter(|(key, _)| key == name);
            // An address that says something twice is not to be trusted with either.
            found.next().filter(|_| found.next().is_none()).map(|(_, value)| value.into_owned())
        };
        if field("state").as_deref() != Some(state) {
            return Self::NotOurs;
        }
        match (field("code"), field("error")) {
            (Some(code), None) => Self::Agreed { code, issuer: field("iss") },
            (_, Some(error)) => {
                let words = field("error_description").map_or(error.clone(), |why| format!("{error}: {why}"));
                Self::Denied(shown(&words))
            }
            (None, None) => Self::NotOurs,
        }
    }
}

/// Words of a server on one line, cut, without what cannot be seen.
pub(super) fn shown(words: &str) -> String {
    let words = infold_core::strip_hostile(words);
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ").chars().take(SAID_CHARS_MAX).collect()
}
