//! How a server is reached: as infold starts it, and as people may see it.

use infold_core::gateway::{NamedValues, ServerWay};
use infold_core::strip_hostile;
use infold_mcp::gateway::{ChildWay, HeadersHelper, HttpLogin, HttpWay, LinkWay, LoginStore};

use super::variables;
use crate::draw::one_line;
use crate::settings::Surroundings;

/// This program, even if its file has been replaced since it was started.
const THIS: &str = "/proc/self/exe";

/// How infold reaches the server of a name whose variables are replaced, with the login that is kept for it.
pub fn link_way((name, way): (&str, &ServerWay), surroundings: &Surroundings, logins: Option<&LoginStore>) -> LinkWay {
    match way {
        ServerWay::Child { program, arguments, variables, inherited, folder } => LinkWay::Child(ChildWay {
            tender: THIS.into(),
            program: program.into(),
            arguments: arguments.iter().map(Into::into).collect(),
            variables: variables::of_server(surroundings, inherited, variables),
            folder: folder.as_ref().map(Into::into),
        }),
        ServerWay::Http { url, headers: NamedValues(headers), helper, login: hints } => {
            let client_secret = hints.client_secret.clone();
            let login = logins.map(|store| HttpLogin { store: store.clone(), client_secret });
            let made_by = |command: &String| HeadersHelper { command: command.clone(), server: name.to_owned() };
            let helper = helper.as_ref().map(made_by);
            LinkWay::Http(HttpWay { url: url.clone(), headers: headers.clone(), helper, login })
        }
    }
}

/// How a server is reached, in words without secrets. People put keys into arguments, and into any part of an address
/// but its host.
pub fn describe(way: &ServerWay) -> String {
    let words = match way {
        ServerWay::Child { program, arguments, .. } => match arguments.len() {
            0 => program.clone(),
            1 => format!("{program} (1 argument)"),
            count => format!("{program} ({count} arguments)"),
        },
        ServerWay::Http { url, .. } => describe_address(url),
    };
    // A stranger may have written it, in a project's file.
    one_line(&strip_hostile(&words))
}

fn describe_address(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let path = if matches!(path, "" | "/" | "/mcp" | "/mcp/") { path } else { "/..." };
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}
