//! Files that no tool may write and a command still can, because Landlock knows only whole folders: hooks and settings of
//! git, and infold's settings of the project. What a command changes of them is said. bubblewrap keeps those that are there
//! from being written.

use std::collections::BTreeMap;
use std::io::Read;

use crate::tools::fence::Fence;

/// The files, and the folder whose files count as well.
const FILES: [&str; 3] = [".infold.toml", ".git/config", ".git/config.worktree"];
const HOOKS: &str = ".git/hooks";
/// All of them, for whoever can keep commands from writing them.
pub(crate) const GUARDED: [&str; 4] = [FILES[0], FILES[1], FILES[2], HOOKS];
/// Hooks that are looked at. Git has two dozen kinds, and brings a sample of most.
const HOOKS_MAX: usize = 200;
/// Bytes of a file that are compared.
const COMPARED_BYTES_MAX: u64 = 1024 * 1024;

/// The guarded files of a folder as they were at one time.
pub(super) struct GuardedFiles(BTreeMap<String, blake3::Hash>);

impl GuardedFiles {
    /// Looks at the files.
    pub(super) fn of(fence: &Fence) -> Self {
        let hooks = std::fs::read_dir(fence.folder().join(HOOKS)).into_iter().flatten().flatten().take(HOOKS_MAX);
        let hooks = hooks.filter_map(|entry| Some(format!("{HOOKS}/{}", entry.file_name().to_str()?)));
        let names = FILES.iter().map(|name| (*name).to_owned()).chain(hooks);
        Self(names.filter_map(|name| digest(fence, &name).map(|digest| (name, digest))).collect())
    }

    /// The files that are not what they were, or are new or gone.
    pub(super) fn changed(&self, fence: &Fence) -> Vec<String> {
        let now = Self::of(fence);
        let mut changed: Vec<String> = self.0.keys().chain(now.0.keys()).cloned().collect();
        changed.sort();
        changed.dedup();
        changed.retain(|name| self.0.get(name) != now.0.get(name));
        changed
    }
}

fn digest(fence: &Fence, name: &str) -> Option<blake3::Hash> {
    let place = match fence.place(name) {
        Ok(place) => place,
        // It leads out of the folder. That it does is what is compared.
        Err(error) => return Some(blake3::hash(error.to_string().as_bytes())),
    };
    let (file, _) = fence.open(&place).ok()?;
    let mut bytes = Vec::new();
    file.take(COMPARED_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(blake3::hash(&bytes))
}
