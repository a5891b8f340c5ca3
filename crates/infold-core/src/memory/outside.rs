//! Which tool calls bring text from outside into a branch, text that anyone may have written.
//!
//! Only the call is looked at, never what it answered. Where it is not clear, a call counts as one that does: all that follows
//! is that what the branch learnt is said to be from outside. What a server behind the gateway says of its tools is for
//! the gateway.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::Regex;

/// How much of a call's arguments is read.
const ARGUMENTS_BYTES_MAX: usize = 64 << 10;

/// Tools that fetch, in lower case and without signs between words.
const FETCHING: [&str; 17] = [
    "webfetch",
    "websearch",
    "fetch",
    "fetchurl",
    "urlfetch",
    "readurl",
    "openurl",
    "googlesearch",
    "googlewebsearch",
    "bravewebsearch",
    "httprequest",
    "httpget",
    "crawl",
    "scrape",
    "readwebpage",
    "openwebpage",
    "searchweb",
];
/// What the names of tools, or of the servers that they are on, begin with if they fetch.
const FETCHING_BEGINNINGS: [&str; 8] =
    ["browser", "playwright", "puppeteer", "chromedevtools", "firecrawl", "tavily", "navigatepage", "navigateto"];
/// Tools that work on files and on the session: an address in their arguments is text like any other.
const LOCAL: [&str; 24] = [
    "read",
    "readfile",
    "write",
    "writefile",
    "edit",
    "editfile",
    "multiedit",
    "notebookedit",
    "applypatch",
    "patch",
    "strreplace",
    "strreplacebasededittool",
    "strreplaceeditor",
    "createfile",
    "grep",
    "glob",
    "ls",
    "list",
    "todowrite",
    "todoread",
    "task",
    "updateplan",
    "search",
    "searchfiles",
];
/// Commands that fetch: the program, and the words of which one follows if it does so only then.
const COMMANDS: [(&str, &[&str]); 24] = [
    ("curl", &[]),
    ("wget", &[]),
    ("aria2c", &[]),
    ("lynx", &[]),
    ("w3m", &[]),
    ("http", &[]),
    ("https", &[]),
    ("xh", &[]),
    ("scp", &[]),
    ("sftp", &[]),
    ("ftp", &[]),
    ("nc", &[]),
    ("telnet", &[]),
    ("invoke-webrequest", &[]),
    ("invoke-restmethod", &[]),
    ("iwr", &[]),
    ("irm", &[]),
    ("gh", &["api", "issue", "pr", "gist", "search", "release", "discussion", "run"]),
    ("glab", &["api", "issue", "mr", "snippet", "release"]),
    ("pip", &["download", "index"]),
    ("pip3", &["download", "index"]),
    ("npm", &["view", "info", "show", "search"]),
    ("git", &["clone"]),
    ("cargo", &["search", "info"]),
];
/// Hosts that are this machine.
const OWN_HOSTS: [&str; 5] = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "host.docker.internal"];

static ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:https?|ftp|wss?)://(?:[^\s/@'\x22]*@)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)").ok());

/// Where the text comes from that a tool call brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallReach {
    /// From this machine.
    Inside,
    /// From outside; `host` is where from, as far as the call says it.
    Outside {
        /// The first host that is named.
        host: Option<String>,
    },
}

/// Where the text comes from that a call of `tool` with these arguments brings. The arguments are JSON or a script, as
/// the model wrote them.
pub fn reach_of(tool: &str, arguments: &str) -> CallReach {
    let arguments = &arguments[..arguments.floor_char_boundary(ARGUMENTS_BYTES_MAX)];
    let names: Vec<String> =
        tool.split("__").flat_map(|part| [plain_name(part), plain_name(last_part(part))]).collect();
    let last = names.last().map_or("", String::as_str);
    let hosts = hosts_in(arguments);
    let is_own = |host: &String| OWN_HOSTS.contains(&host.as_str());
    let outer = hosts.iter().find(|host| !is_own(host)).cloned();
    let fetches = FETCHING.contains(&last)
        || names.iter().any(|name| FETCHING_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)));
    let is_local = LOCAL.contains(&last);
    // What a command asks of this machine is from this machine.
    let stays = !hosts.is_empty() && outer.is_none();
    match (fetches, is_local) {
        (true, _) | (false, false) if stays => CallReach::Inside,
        (true, _) => CallReach::Outside { host: outer },
        (false, true) => CallReach::Inside,
        (false, false) if outer.is_some() || has_fetching_command(arguments) => CallReach::Outside { host: outer },
        (false, false) => CallReach::Inside,
    }
}

fn plain_name(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// A name without the namespace before it.
fn last_part(name: &str) -> &str {
    name.rsplit(['.', '/', ':']).next().unwrap_or(name)
}

fn hosts_in(arguments: &str) -> Vec<String> {
    let Some(address) = &*ADDRESS else { return Vec::new() };
    // Slashes may be escaped in JSON.
    let arguments = arguments.replace("\\/", "/");
    address
        .captures_iter(&arguments)
        .filter_map(|found| found.get(1))
        .map(|host| host.as_str().to_ascii_lowercase())
        .collect()
}

/// Whether some word is the name of a program that fetches, and followed by what makes it do so.
fn has_fetching_command(arguments: &str) -> bool {
    let arguments = arguments.replace("\\n", "\n").replace("\\t", "\t");
    let ends_word = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ';' | '|' | '&' | '(' | ')' | '{' | '}' | ',' | '\\' | '$')
    };
    let words: Vec<String> =
        arguments.split(ends_word).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    words.iter().enumerate().any(|(at, word)| {
        let program = word.rsplit('/').next().unwrap_or(word);
        let program = program.strip_suffix(".exe").unwrap_or(program);
        let follows = |wanted: &[&str]| {
            wanted.is_empty() || words[at + 1..].iter().take(FOLLOWING_MAX).any(|word| wanted.contains(&word.as_str()))
        };
        COMMANDS.iter().any(|(name, wanted)| *name == program && follows(wanted))
    })
}

/// How many words after a program's name are looked at: there may be options before what it shall do.
const FOLLOWING_MAX: usize = 3;
