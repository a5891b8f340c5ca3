//! The checks that need no database.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use infold_core::Scrubber;
use infold_door::{Token, TokenError};

use super::Finding;
use crate::data_folder;
use crate::draw::thousands;
use crate::failure::Refused;
use crate::memory_models;
use crate::probe::{Listener, probe};
use crate::scrub_rules;
use crate::settings::{InForce, Origin, Scrub, ScrubFault, Settings, Surroundings};

const MIB: u64 = 1024 * 1024;
/// With less than this a full disk is near, and a full disk refuses every write.
const FREE_MIN_BYTES: u64 = 64 * MIB;

/// Counts the settings that were changed, and names the files that were read. `[testing]` gets a note.
pub fn settings(in_force: &InForce) -> Finding {
    let changed = in_force.entries.iter().filter(|entry| entry.origin != Origin::Default).count();
    let files: Vec<String> = in_force
        .files
        .iter()
        .filter(|file| file.is_read())
        .filter_map(|file| Some(format!("{} {}", file.layer, file.path.as_ref()?.display())))
        .collect();
    let testing = &in_force.settings.testing;
    if testing.scrub_fault != ScrubFault::None {
        return Finding::Note("[testing] is on, which is meant for infold's own tests".to_owned());
    }
    let files = if files.is_empty() { "no settings files".to_owned() } else { files.join(", ") };
    Finding::Good(format!("{} settings, {changed} changed from the default; {files}", in_force.entries.len()))
}

/// Checks that nobody but the user can access the data folder.
pub fn data_folder(folder: &Path, usual: Option<&Path>) -> Finding {
    if let Err(refused) = data_folder::is_for_infold_alone(folder, usual) {
        return Finding::bad(refused.message(), refused.hint_text());
    }
    match fs::metadata(folder) {
        Ok(metadata) => match data_folder::safe_to_use(folder, &metadata) {
            Ok(()) => Finding::Good(format!("{}, private", folder.display())),
            Err(refused) => Finding::bad(refused.message(), refused.hint_text()),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Finding::Note(format!("{} does not exist yet; it is created on first use", folder.display()))
        }
        Err(error) => Finding::bad(
            format!("{}: {error}", folder.display()),
            "give yourself access, or choose another folder with --data DIR",
        ),
    }
}

/// Checks how much space is left on the disk that holds the data folder.
pub fn free_space(folder: &Path) -> Finding {
    let existing = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(existing) {
        Ok(disk) => {
            let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
            let free = format!("{} MiB free", thousands(free_bytes / MIB));
            if free_bytes < FREE_MIN_BYTES {
                Finding::bad(free, "free some space, or move the data folder with --data DIR")
            } else {
                Finding::Good(free)
            }
        }
        Err(error) => Finding::Note(format!("unknown: {error}")),
    }
}

/// Checks that the token exists and that only the user can read it.
pub fn token(folder: &Path) -> Finding {
    match Token::read(folder) {
        Ok(_) => Finding::Good("present, private".to_owned()),
        Err(TokenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Finding::Note("does not exist yet; the daemon creates it on first start".to_owned())
        }
        Err(error) => {
            let file = folder.join(infold_door::TOKEN_FILE);
            Finding::bad(error.to_string(), format!("rm {}", data_folder::quoted(&file)))
        }
    }
}

/// Checks that the key exists, is complete, and that only the user can read it. Without it, branch ids in transcripts
/// and placeholders of secrets are not recognised once the database is lost.
pub fn key(folder: &Path) -> Finding {
    let file = folder.join(infold_store::KEY_FILE);
    let metadata = match fs::metadata(&file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Finding::Note("does not exist yet; it is created with the database".to_owned());
        }
        Err(error) => return Finding::bad(format!("{}: {error}", file.display()), "give yourself access to it"),
    };
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        let what = format!("other users can read {} (mode {mode:04o})", file.display());
        return Finding::bad(what, format!("chmod 600 {}", data_folder::quoted(&file)));
    }
    let bytes = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if bytes != infold_store::KEY_BYTES {
        let what = format!("{} has {bytes} bytes, not {}", file.display(), infold_store::KEY_BYTES);
        let file = data_folder::quoted(&file);
        return Finding::bad(what, format!("restore it from a backup, or use the database's copy: rm {file}"));
    }
    Finding::Good("present, complete, private".to_owned())
}

/// Checks that the rules in settings can be used, and on a made-up token that the scrubber removes a secret and leaves the
/// text around it.
pub fn scrubber(settings: &Scrub, surroundings: &Surroundings) -> Finding {
    let in_force = match scrub_rules::read_all(settings, surroundings) {
        Ok(in_force) => in_force,
        Err(error) => {
            let hint = error.downcast_ref::<Refused>().map(Refused::hint_text).filter(|hint| !hint.is_empty());
            let what = error.downcast_ref::<Refused>().map_or_else(|| error.to_string(), |it| it.message().to_owned());
            return Finding::bad(what, hint.unwrap_or("change the setting, or the file that it names"));
        }
    };
    match self_test() {
        Finding::Good(_) if !in_force.warnings.is_empty() => Finding::Note(in_force.warnings.join("; ")),
        finding @ (Finding::Good(_) | Finding::Note(_) | Finding::Bad { .. }) => finding,
    }
}

/// Looks at the models that settings name for memories, without asking them. `None` if they name none.
pub fn memory_models(settings: &Settings, surroundings: &Surroundings) -> Option<Finding> {
    let problems = memory_models::problems(settings, surroundings)?;
    Some(match problems.is_empty() {
        true => Finding::Good("named in settings, with what they need".to_owned()),
        false => Finding::Note(format!("{}: memories do without it", problems.join("; "))),
    })
}

fn self_test() -> Finding {
    let made_up = format!("{}_{}", "ghp", "Q7rT2mXv9LkB4nZc8JpW3sHd6FgY1aEu5oRi");
    let text = format!("before\nGITHUB_TOKEN={made_up}\nafter");
    match Scrubber::new([7; 32]).scrub(&text) {
        Ok(scrubbed) if scrubbed.as_str().contains(&made_up) => Finding::bad(
            "self-test failed: a test token was not removed",
            "reinstall infold; report this if it persists",
        ),
        Ok(scrubbed) if !scrubbed.as_str().starts_with("before\n") || !scrubbed.as_str().ends_with("\nafter") => {
            Finding::bad("self-test failed: harmless text was changed", "reinstall infold; report this if it persists")
        }
        Ok(_) => Finding::Good("self-test passed".to_owned()),
        Err(error) => Finding::bad(error.to_string(), "reinstall infold; report this if it persists"),
    }
}

/// Checks whether the kernel says which user opened a connection. If it does, the user's own programs need no token.
pub fn callers_user() -> Finding {
    let tells = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        let stream = TcpStream::connect(listener.local_addr().ok()?).ok()?;
        Some(infold_door::peer::is_same_user(stream.local_addr().ok()?, stream.peer_addr().ok()?))
    };
    match tells() {
        Some(true) => Finding::Good("your own programs need no token".to_owned()),
        Some(false) | None => {
            Finding::Note("this system does not show who opened a connection: local programs need the token".to_owned())
        }
    }
}

/// Checks who listens on the daemon's address.
pub fn daemon(settings: &Settings) -> Finding {
    let Ok(address) = settings.server.listen.parse::<SocketAddr>() else {
        return Finding::bad("server.listen is not an address and port", "write it as 127.0.0.1:9090");
    };
    if address.port() == 0 {
        return Finding::Note("server.listen has port 0: the port changes with every start".to_owned());
    }
    match probe(address) {
        Listener::Ours { version } => Finding::Good(format!("infold {version} answers on {address}")),
        Listener::Nobody => Finding::Note(format!("not running on {address}: start it with `infold serve`")),
        Listener::Unproven => Finding::bad(
            format!("another user's infold seems to listen on {address}"),
            "choose another port: set server.listen",
        ),
        Listener::Other => Finding::bad(
            format!("another program listens on {address}"),
            "stop it, or choose another port: set server.listen",
        ),
    }
}
