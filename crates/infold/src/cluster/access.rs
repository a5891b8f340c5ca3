//! Who this machine is to the servers, and the files that say so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use infold_store::ClusterAccess;

use crate::data_folder::quoted;
use crate::failure::Refused;
use crate::settings::Nats;

/// What anybody on the machine may do with a file. A group is let in on purpose: a service's secrets are often a group's.
const ANYBODY: u32 = 0o007;

/// The file that a setting names, if it does.
pub fn path(file: &str) -> Option<PathBuf> {
    (!file.is_empty()).then(|| PathBuf::from(file))
}

/// Reads what this machine shows the servers.
pub fn read_access(nats: &Nats) -> anyhow::Result<ClusterAccess> {
    if let Some(file) = path(&nats.credentials_file) {
        return Ok(ClusterAccess::Credentials { text: read("store.nats.credentials_file", &file)? });
    }
    if let Some(file) = path(&nats.nkey_file) {
        return Ok(ClusterAccess::Nkey { seed: read("store.nats.nkey_file", &file)?.trim().to_owned() });
    }
    if nats.user.is_empty() {
        return Ok(ClusterAccess::Anyone);
    }
    let Some(file) = path(&nats.password_file) else {
        let refused =
            Refused::new("store.nats.user has no password").hint("name a file with it: store.nats.password_file");
        return Err(refused.into());
    };
    let password = read("store.nats.password_file", &file)?.trim_end_matches(['\r', '\n']).to_owned();
    Ok(ClusterAccess::Password { user: nats.user.clone(), password })
}

fn read(setting: &str, file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).map_err(|error| Refused::new(format!("{setting}: {}: {error}", file.display())).into())
}

/// This machine's certificate and its key, which are of no use without each other.
pub fn client_certificate(nats: &Nats) -> Result<Option<(PathBuf, PathBuf)>, Refused> {
    match (path(&nats.certificate_file), path(&nats.certificate_key_file)) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(Refused::new("store.nats.certificate_file has no key")
            .hint("name the file with its key: store.nats.certificate_key_file")),
        (None, Some(_)) => Err(Refused::new("store.nats.certificate_key_file has no certificate")
            .hint("name the file with the certificate: store.nats.certificate_file")),
    }
}

/// A file with a secret that anybody on this machine can read, as words and what to do, if there is one.
pub fn exposed_secret(nats: &Nats) -> Option<(String, String)> {
    let files = [&nats.credentials_file, &nats.nkey_file, &nats.password_file, &nats.certificate_key_file];
    files.into_iter().filter_map(|file| path(file)).find_map(|file| {
        let mode = fs::metadata(&file).ok()?.permissions().mode() & 0o777;
        let is_exposed = mode & ANYBODY != 0;
        is_exposed.then(|| {
            let what = format!("other users can read {} (mode {mode:04o})", file.display());
            (what, format!("chmod 600 {}", quoted(&file)))
        })
    })
}
