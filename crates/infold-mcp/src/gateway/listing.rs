//! Lists of a server, page by page, within bounds. An item that is too long or no object is left out and named; the others
//! stay.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::error::{LinkError, METHOD_NOT_FOUND};
use super::link::{ServerLink, milliseconds_to};
use super::options::{CallOptions, ListLimits};

/// Characters of an item's name in a message.
const NAME_CHARS_MAX: usize = 80;

/// What a server can list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources.
    Resources,
    /// Patterns of resources' addresses.
    ResourceTemplates,
}

impl ListKind {
    fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    /// The key of the items in an answer.
    fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }

    /// The capability that a server declares for it.
    pub(super) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::ResourceTemplates => "resources",
        }
    }

    /// The list that a notification is about.
    pub(super) fn changed_by(method: &str) -> Option<Self> {
        match method {
            "notifications/tools/list_changed" => Some(Self::Tools),
            "notifications/prompts/list_changed" => Some(Self::Prompts),
            "notifications/resources/list_changed" => Some(Self::Resources),
            _ => None,
        }
    }
}

/// A list, as far as it could be read.
#[derive(Debug, Default, PartialEq)]
pub struct Listed {
    /// The items as the server wrote them. Each is an object.
    pub items: Vec<Value>,
    /// What was left out, in words.
    pub problems: Vec<String>,
}

impl Listed {
    /// Takes the items of a page in. Returns whether there is room for more.
    fn take(&mut self, page: Vec<Value>, limits: &ListLimits) -> ListRoom {
        for item in page {
            // What is left out counts too: nobody lists nonsense without end.
            if self.items.len() + self.problems.len() >= limits.items_max {
                self.problems.push(format!("only the first {} entries are used", limits.items_max));
                return ListRoom::None;
            }
            let bytes = item.to_string().len();
            if !item.is_object() {
                self.problems.push("an entry is not an object and was left out".to_owned());
            } else if bytes > limits.item_bytes_max {
                let (name, most) = (name(&item), limits.item_bytes_max);
                self.problems.push(format!("{name} has {bytes} bytes, the limit is {most}: it was left out"));
            } else {
                self.items.push(item);
            }
        }
        ListRoom::Some
    }
}

enum ListRoom {
    Some,
    None,
}

fn name(item: &Value) -> String {
    let name = item.get("name").or_else(|| item.get("uri")).and_then(Value::as_str).unwrap_or("an entry");
    name.chars().take(NAME_CHARS_MAX).collect()
}

impl ServerLink {
    /// The whole list, from all pages. A server that does not have this kind of list has an empty one.
    pub async fn list(&self, what: ListKind) -> Result<Listed, LinkError> {
        let limits = self.limits().list.clone();
        let mut listed = Listed::default();
        let mut cursor: Option<Value> = None;
        let deadline = Instant::now() + Duration::from_millis(limits.timeout_ms);
        for _page in 0..limits.pages_max {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let options = CallOptions::within(milliseconds_to(deadline));
            let mut page = match self.request(what.method(), params, options).await {
                Err(LinkError::Rpc(error)) if error.code == METHOD_NOT_FOUND => return Ok(listed),
                Err(LinkError::TimedOut { method, .. }) => {
                    return Err(LinkError::TimedOut { method, timeout_ms: limits.timeout_ms });
                }
                page => page?,
            };
            let Some(Value::Array(items)) = page.get_mut(what.key()).map(Value::take) else {
                return Err(LinkError::NotMcp(format!("its answer to {} has no list {:?}", what.method(), what.key())));
            };
            let next = page.get_mut("nextCursor").map(Value::take).filter(|next| next.is_string());
            let room = listed.take(items, &limits);
            match (room, next) {
                (ListRoom::None, _) | (ListRoom::Some, None) => return Ok(listed),
                (ListRoom::Some, next) if next == cursor => {
                    listed.problems.push("the server sends the same page again and again".to_owned());
                    return Ok(listed);
                }
                (ListRoom::Some, next) => cursor = next,
            }
        }
        listed.problems.push(format!("only the first {} pages are used", limits.pages_max));
        Ok(listed)
    }
}
