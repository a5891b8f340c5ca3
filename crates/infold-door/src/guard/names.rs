//! Checks Host and Origin: the name under which a request reached us, and the web page that sent it.
//!
//! A page on the web can point its own name at 127.0.0.1 and can send requests to any port; it can
//! set neither Host nor Origin. No answer ever carries CORS headers, so a page that is let in here
//! can still only read what the browser lets it read from its own origin.

use std::net::{IpAddr, Ipv6Addr};

use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use http::request::Parts;

use crate::refusal::{DoorRefusal, quoted};
use crate::settings::{DoorError, DoorSettings};

/// Host names that always mean this machine.
const LOOPBACK_HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// A host and perhaps a port. The host is in lower case, and an IPv6 address is in its shortest form.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    host: String,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OriginName {
    scheme: String,
    authority: Authority,
}

#[derive(Debug)]
enum OriginRule {
    Exactly(OriginName),
    AnyPort { scheme: String, host: String },
}

/// The host names and origins that are let in.
#[derive(Debug)]
pub(super) struct AllowedNames {
    /// An entry without a port allows any port.
    hosts: Vec<Authority>,
    origins: Vec<OriginRule>,
}

impl AllowedNames {
    pub(super) fn new(settings: &DoorSettings, address: IpAddr) -> Result<Self, DoorError> {
        let loopback = LOOPBACK_HOSTS.iter().map(|host| host.to_string());
        let bound = (!address.is_unspecified()).then(|| host_of(address.to_canonical()));
        let mut hosts: Vec<Authority> = loopback.chain(bound).map(|host| Authority { host, port: None }).collect();
        for text in &settings.allowed_hosts {
            hosts.push(Authority::parse(text).ok_or_else(|| DoorError::Setting {
                setting: "auth.allowed_hosts",
                problem: format!("“{text}” is not a host name or a name and a port"),
            })?);
        }

        let any_port = |host: &str| OriginRule::AnyPort { scheme: "http".to_owned(), host: host.to_owned() };
        let mut origins: Vec<OriginRule> = LOOPBACK_HOSTS.into_iter().map(any_port).collect();
        for text in &settings.allowed_origins {
            origins.push(OriginRule::parse(text).ok_or_else(|| DoorError::Setting {
                setting: "auth.allowed_origins",
                problem: format!("“{text}” is not of the form scheme://name:port"),
            })?);
        }
        Ok(Self { hosts, origins })
    }

    /// Refuses a request whose host or origin is not allowed.
    pub(super) fn check(&self, parts: &Parts) -> Result<(), DoorRefusal> {
        // A request's target may name a host too, which HTTP then prefers to Host; so both must be allowed.
        let target = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
        let host = parts.headers.get(HOST).map_or(&b""[..], |host| host.as_bytes());
        for name in target.into_iter().chain([host]) {
            self.check_host(name)?;
        }
        self.check_origin(&parts.headers)?;
        check_site(&parts.headers)
    }

    fn check_host(&self, name: &[u8]) -> Result<(), DoorRefusal> {
        let authority = std::str::from_utf8(name).ok().and_then(Authority::parse);
        let known = authority.is_some_and(|authority| {
            self.hosts
                .iter()
                .any(|rule| rule.host == authority.host && (rule.port.is_none() || rule.port == authority.port))
        });
        if known {
            return Ok(());
        }
        Err(DoorRefusal::forbidden(
            "host_not_allowed",
            format!(
                "Host {} is not a name of this infold: use 127.0.0.1 or localhost, or add the name \
                 to auth.allowed_hosts",
                quoted(name)
            ),
        ))
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), DoorRefusal> {
        for value in headers.get_all(ORIGIN) {
            let origin = std::str::from_utf8(value.as_bytes()).ok().and_then(OriginName::parse);
            let known = origin.is_some_and(|origin| self.origins.iter().any(|rule| rule.fits(&origin)));
            if !known {
                return Err(DoorRefusal::forbidden(
                    "origin_not_allowed",
                    format!(
                        "pages of origin {} may not call infold: add the origin to \
                         auth.allowed_origins if you trust it",
                        quoted(value.as_bytes())
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// Refuses a request of a page of another site. Browsers say so in `Sec-Fetch-Site`, even where they send no Origin.
fn check_site(headers: &HeaderMap) -> Result<(), DoorRefusal> {
    let cross = headers
        .get_all("sec-fetch-site")
        .iter()
        .any(|site| site.as_bytes().trim_ascii().eq_ignore_ascii_case(b"cross-site"));
    if cross {
        let message = "the request was made by a page of another site, which may not call infold";
        return Err(DoorRefusal::forbidden("cross_site", message));
    }
    Ok(())
}

impl Authority {
    fn parse(text: &str) -> Option<Self> {
        let (host, rest) = match text.strip_prefix('[') {
            Some(inner) => {
                let (address, rest) = inner.split_once(']')?;
                (host_of(address.parse::<Ipv6Addr>().ok()?.into()), rest)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                (text[..end].to_ascii_lowercase(), &text[end..])
            }
        };
        let port = match rest.strip_prefix(':') {
            Some(digits) => Some(parse_port(digits)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let valid = host.starts_with('[') || (!host.is_empty() && host.bytes().all(plain));
        valid.then_some(Self { host, port })
    }
}

impl OriginName {
    /// Reads an origin as browsers write it. `null`, which browsers send for a page that hides its origin, is
    /// not one.
    fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let mut authority = Authority::parse(authority)?;
        let usual = match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        authority.port = authority.port.or(usual);
        let word = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        (!scheme.is_empty() && scheme.bytes().all(word)).then_some(Self { scheme, authority })
    }
}

impl OriginRule {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix(":*") {
            Some(text) => {
                let OriginName { scheme, authority } = OriginName::parse(text)?;
                Some(Self::AnyPort { scheme, host: authority.host })
            }
            None => OriginName::parse(text).map(Self::Exactly),
        }
    }

    fn fits(&self, origin: &OriginName) -> bool {
        match self {
            Self::Exactly(allowed) => allowed == origin,
            Self::AnyPort { scheme, host } => *scheme == origin.scheme && *host == origin.authority.host,
        }
    }
}

fn host_of(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn parse_port(digits: &str) -> Option<u16> {
    let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if valid { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
