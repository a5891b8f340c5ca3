//! The remote of a repository: where its `origin` is, as git's settings say. Clones of one repository have the same. Only
//! the little of the form of git's settings is read that this needs.
//!
//! An address may hold a name and a password. They are left out before anything is compared, and nothing but a hash of
//! the rest is ever kept. What must hold: an address with other credentials has the same name.

#[cfg(test)]
mod tests;

/// Longer addresses are none.
const ADDRESS_BYTES_MAX: usize = 2_000;
/// Schemes, and the port that each has if none is named.
const SCHEMES: [(&str, &str); 5] =
    [("https", "443"), ("http", "80"), ("ssh", "22"), ("git", "9418"), ("git+ssh", "22")];

/// The first value of a key in a section of git's settings, such as `url` in `remote "origin"`. Files that the settings
/// include are not looked at.
pub fn git_setting(settings: &str, section: &str, key: &str) -> Option<String> {
    let mut is_inside = false;
    for line in settings.lines().map(str::trim) {
        let mut rest = line;
        if let Some((named, behind)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            is_inside = is_same_section(named, section);
            rest = behind.trim();
        }
        let Some((named, value)) = rest.split_once('=').filter(|_| is_inside) else { continue };
        if named.trim().eq_ignore_ascii_case(key) {
            return Some(value_of(value)).filter(|value| !value.is_empty());
        }
    }
    None
}

/// Whether two sections are the same. What is in quotation marks is compared with its case.
fn is_same_section(one: &str, other: &str) -> bool {
    let parts = |section: &str| {
        let (name, of) = section.trim().split_once(char::is_whitespace).unwrap_or((section.trim(), ""));
        (name.to_ascii_lowercase(), of.trim().to_owned())
    };
    parts(one) == parts(other)
}

/// A value without its quotation marks and without a comment behind it.
fn value_of(text: &str) -> String {
    let (mut value, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for c in text.trim().chars() {
        match c {
            _ if is_escaped => {
                value.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            _ => value.push(c),
        }
    }
    value.trim().to_owned()
}

/// What an address names: host and path, the same for all ways to reach it. `None` if it names nothing that two clones
/// could have in common.
pub fn remote_name(address: &str) -> Option<String> {
    let address = address.trim();
    let is_plain =
        address.len() <= ADDRESS_BYTES_MAX && !address.contains(|c: char| c.is_control() || c.is_whitespace());
    if !is_plain {
        return None;
    }
    let (host, path) = match address.split_once("://") {
        Some((scheme, rest)) => {
            let scheme = scheme.to_ascii_lowercase();
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            if scheme == "file" {
                (String::new(), path)
            } else {
                let (_, port) = SCHEMES.iter().find(|(known, _)| *known == scheme)?;
                (host_of(authority, port), path)
            }
        }
        None if address.starts_with('/') => (String::new(), address),
        // As `scp` has it: user@host:path.
        None => {
            let (authority, path) = address.split_once(':').filter(|(host, _)| !host.contains('/'))?;
            (host_of(authority, ""), path)
        }
    };
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    (!path.is_empty()).then(|| format!("{host}/{path}"))
}

/// The host of an address, without who asks and without the usual port.
fn host_of(authority: &str, usual_port: &str) -> String {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    match host.rsplit_once(':') {
        Some((name, port)) if port == usual_port => name.to_owned(),
        _ => host,
    }
}
