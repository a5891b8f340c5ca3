//! bubblewrap: which files a command may write, where the kernel has no Landlock. It shows the command the whole machine
//! read-only, with the command's own folders over that.
//!
//! It is another program, and needs name spaces that not every machine gives: whether it works is tried out. Inside of it,
//! `infold confine` puts the filter of system calls in force, which also keeps the command from mounting anything.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Confinement;
use crate::tools::shell::GUARDED;

/// Where it is installed.
const PROGRAMS: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// The program, if it is installed. Whoever has put another one into a search path is not asked.
pub(super) fn program() -> Option<PathBuf> {
    PROGRAMS.iter().map(PathBuf::from).find(|program| program.exists())
}

/// What a command begins with that it is around.
pub(super) fn steps(confinement: &Confinement) -> Vec<OsString> {
    let program = program().unwrap_or_else(|| PROGRAMS[0].into());
    let mut steps: Vec<OsString> = vec![program.into()];
    // Devices do not work in what is shown read-only, so there are some of its own.
    steps.extend(["--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"].map(OsString::from));
    let mut show = |how: &str, from: &Path, at: &Path| steps.extend([how.into(), from.into(), at.into()]);
    for folder in &confinement.writable {
        show("--bind", folder, folder);
    }
    let working = confinement.writable.first();
    for guarded in GUARDED.iter().filter_map(|name| Some(working?.join(name))) {
        show("--ro-bind-try", &guarded, &guarded);
    }
    for file in confinement.hidden.iter().filter(|path| path.is_file()) {
        show("--ro-bind", Path::new("/dev/null"), file);
    }
    for folder in confinement.hidden.iter().filter(|path| path.is_dir()) {
        steps.extend(["--tmpfs".into(), folder.into()]);
    }
    steps.push("--".into());
    steps
}
