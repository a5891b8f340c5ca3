//! Which requests are what: the table of the routes that infold knows, and what happens to everything else.
//!
//! Must hold: whatever may carry what a tool gave is planned or searched. A route that is not in the table is searched
//! as text, so that a new one, or another spelling of an old one, is no way around the search.

use http::Method;
use infold_engine::SearchScope;
use infold_wire::request::{Api, ConversationPlace};

use crate::{Planning, Provider, ProxySettings};

/// How a request is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    /// A turn of a conversation: it is planned.
    Turn(Api),
    /// A count of a turn's tokens: it is planned like the turn, and nothing of it is stored.
    Count(Api),
    /// Anything else that has a body: it is searched for secrets and passed on.
    Search(SearchScope),
    /// A request without a body, or one that settings exempt: it is passed on as it is.
    Pass,
}

/// A route that infold knows. Its path is below the provider's, without the version; `*` is any one segment.
struct KnownRoute {
    provider: Provider,
    path: &'static str,
    handling: Handling,
}

/// Every route of a provider by which clients send what tools gave. All are posted to.
const KNOWN: [KnownRoute; 9] = [
    known(Provider::Anthropic, "/messages", Handling::Turn(Api::Messages)),
    known(Provider::Anthropic, "/messages/count_tokens", Handling::Count(Api::Messages)),
    known(Provider::Anthropic, "/messages/batches", results(ConversationPlace::Batch)),
    known(Provider::OpenAi, "/responses", Handling::Turn(Api::Responses)),
    known(Provider::OpenAi, "/responses/input_tokens", Handling::Count(Api::Responses)),
    known(Provider::OpenAi, "/responses/compact", results(ConversationPlace::Input)),
    known(Provider::OpenAi, "/chat/completions", Handling::Turn(Api::Chat)),
    known(Provider::OpenAi, "/conversations", results(ConversationPlace::Items)),
    known(Provider::OpenAi, "/conversations/*/items", results(ConversationPlace::Items)),
];

const fn known(provider: Provider, path: &'static str, handling: Handling) -> KnownRoute {
    KnownRoute { provider, path, handling }
}

const fn results(place: ConversationPlace) -> Handling {
    Handling::Search(SearchScope::Results(place))
}

/// The paths of all routes that infold knows, as clients write them; `*` is any one segment.
pub fn known_paths() -> Vec<String> {
    KNOWN.iter().map(|route| format!("{}/v1{}", route.provider.prefix(), route.path)).collect()
}

impl Handling {
    /// Decides by method and path, and never by the query, because clients add parameters of their own. `path` is the
    /// one below the provider's.
    pub(crate) fn of(provider: Provider, method: &Method, path: &str, settings: &ProxySettings) -> Self {
        if settings.planning == Planning::Off {
            return Self::Pass;
        }
        let path = plain(path);
        let below = path.strip_prefix("/v1").unwrap_or(&path);
        let known = KNOWN.iter().find(|route| route.provider == provider && fits(route.path, below));
        if let Some(route) = known.filter(|_| method == Method::POST) {
            return route.handling;
        }
        let is_exempt = |exempt: &String| exempt.strip_prefix(provider.prefix()) == Some(&*path);
        if settings.unsearched_paths.iter().any(is_exempt) { Self::Pass } else { Self::Search(SearchScope::Text) }
    }
}

/// Whether a path is the one of a route.
fn fits(route: &str, path: &str) -> bool {
    let (mut wanted, mut found) = (route.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == found || (wanted == "*" && !found.is_empty()) => {}
            (_, _) => return false,
        }
    }
}

/// A path as it is usually written: characters that need no escape have none, and no slash is there twice or at the
/// end. Providers take other spellings for the same path.
fn plain(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let escaped = rest.strip_prefix('%').and_then(|after| Some((after.get(..2)?, after.get(2..)?)));
        let meant = escaped.and_then(|(digits, after)| Some((u8::from_str_radix(digits, 16).ok()?, after)));
        match meant.filter(|(byte, _)| byte.is_ascii_alphanumeric() || b"-._~".contains(byte)) {
            Some((byte, after)) => {
                plain.push(char::from(byte));
                rest = after;
            }
            None => {
                if first != '/' || !plain.ends_with('/') {
                    plain.push(first);
                }
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    plain.truncate(plain.trim_end_matches('/').len());
    plain
}

#[cfg(test)]
mod tests;
