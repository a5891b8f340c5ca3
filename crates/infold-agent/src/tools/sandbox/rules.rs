//! Landlock: which files a command may read and write, and that its connections and signals stay inside.
//!
//! Landlock knows only what is allowed. To hide a folder, everything beside it is allowed one by one, and the folders above
//! it are not. Their names can still be listed: a list of names is worth more than what it gives away.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::{ConfineError, Confinement, NetworkAccess};

/// The newest version whose effects are known here. Newer kernels do as much.
const KNOWN: ABI = ABI::V6;
/// Entries of a folder that are allowed one by one.
const ENTRIES_MAX: usize = 5000;
/// Devices that every command may write. Nothing is kept there.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom"];

/// Puts the rules in force for this thread, and returns the version of Landlock that does; 0 if the kernel has none.
pub(super) fn apply(confinement: &Confinement) -> Result<i32, ConfineError> {
    let hidden: Vec<PathBuf> = confinement.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let writable = confinement.writable.iter().map(|path| existing(path)).collect::<Result<Vec<_>, _>>()?;
    for path in &hidden {
        if let Some(folder) = writable.iter().find(|folder| path.starts_with(folder)) {
            let (hidden, folder) = (path.display().to_string(), folder.display().to_string());
            return Err(ConfineError::HiddenInside { hidden, folder });
        }
    }
    let mut readable = Vec::new();
    allow_beside(Path::new("/"), &hidden, &mut readable)?;
    let status = restricted(confinement.network, &readable, &writable)
        .map_err(|error| ConfineError::Kernel(error.to_string()))?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => 0,
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) => effective_abi as i32,
    })
}

fn restricted(
    network: NetworkAccess,
    readable: &[PathBuf],
    writable: &[PathBuf],
) -> Result<landlock::RestrictionStatus, RulesetError> {
    // A device that is made in a folder would reach around all rules.
    let inside = AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let read: BitFlags<AccessFs> = AccessFs::from_read(KNOWN);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let rules = Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?.scope(Scope::from_all(KNOWN))?;
    let rules = match network {
        NetworkAccess::Closed => rules.handle_access(AccessNet::from_all(KNOWN))?,
        NetworkAccess::Open => rules,
    };
    let rules = rules
        .create()?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(writable, inside))?
        .add_rules(path_beneath_rules(DEVICES, device))?;
    let rules = match PathFd::new("/") {
        Ok(root) => rules.add_rule(PathBeneath::new(root, AccessFs::ReadDir))?,
        Err(_) => rules,
    };
    rules.restrict_self()
}

fn existing(path: &Path) -> Result<PathBuf, ConfineError> {
    path.canonicalize()
        .map_err(|error| ConfineError::NoFolder { path: path.display().to_string(), why: error.to_string() })
}

/// Adds what of a folder may be read: all of it, or, if something in it is hidden, everything beside that.
fn allow_beside(folder: &Path, hidden: &[PathBuf], allowed: &mut Vec<PathBuf>) -> Result<(), ConfineError> {
    if hidden.iter().any(|path| path == folder) {
        return Ok(());
    }
    if !hidden.iter().any(|path| path.starts_with(folder)) {
        allowed.push(folder.to_owned());
        return Ok(());
    }
    // A folder that cannot be listed has nothing that could be read by its name either, as far as is known here.
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for (count, entry) in entries.enumerate() {
        if count >= ENTRIES_MAX {
            return Err(ConfineError::TooManyEntries(folder.display().to_string()));
        }
        // What a link leads to is allowed where it is, or not at all.
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            allow_beside(&entry.path(), hidden, allowed)?;
        }
    }
    Ok(())
}
