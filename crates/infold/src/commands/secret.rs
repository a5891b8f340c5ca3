//! `infold secret restore`: puts secrets back into files in which their placeholders were written.
//!
//! infold stores no secret, not on disk and not in memory, so it has none to give away. But the agent that read a
//! secret still has it: its own recording of the session holds the result as the tool returned it, because only what
//! goes to the model is scrubbed. So the recordings of this user are searched for a secret that gives the same
//! placeholder when it is scrubbed with this data folder's key. A daemon that stored secrets, or a route that returned
//! them, would be one more place to steal them from.
//!
//! An agent may run this, too. It learns nothing from it: the file holds again what it held before, reading it is
//! scrubbed as before, and no secret is ever printed.

mod search;

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use anyhow::Context;
use infold_core::Scrubber;
use infold_store::KEY_FILE;
use serde_json::json;

use super::Invocation;
use crate::data_folder::{self, DataFolder};
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::whole_file::{self, IfThere};
use search::{FoundSecrets, Search};

/// The largest file in which secrets are put back.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Arguments of `secret`.
#[derive(Debug, clap::Args)]
pub struct SecretArgs {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done.
#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Replace placeholders such as [SECRET:github-pat:7f3a2c] in files by the secrets behind them
    #[command(after_help = help::text(
        &["infold stores no secrets. It looks for them in your latest transcripts of Claude Code and Codex, which \
           contain what the agent's tools returned, or in the files given with --from. A file is written completely \
           or not at all and keeps its mode. No secret is printed."],
        &[
            ("infold secret restore config.env", ""),
            ("infold secret restore config.env --from config.env.backup", ""),
        ],
    ))]
    Restore(RestoreArgs),
}

/// Arguments of `secret restore`.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// The files that contain placeholders
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Look for the secrets in this file instead: a transcript, or any file that contains them; can be repeated
    #[arg(long, value_name = "FILE")]
    pub from: Vec<PathBuf>,
}

pub fn run(args: &SecretArgs, invocation: &Invocation) -> anyhow::Result<()> {
    match &args.action {
        Action::Restore(args) => restore(args, invocation),
    }
}

fn restore(args: &RestoreArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let scrubber = scrubber(invocation)?;
    let masked: Vec<Masked> = args.files.iter().map(|file| Masked::read(file, &scrubber)).collect::<Result<_, _>>()?;

    let mut search = Search::new(&scrubber, masked.iter().flat_map(|file| file.placeholders.iter().cloned()));
    match args.from.as_slice() {
        [] => search.recordings(invocation),
        named => named.iter().try_for_each(|file| search.named(file, invocation))?,
    }

    let mut mended = Vec::new();
    for file in &masked {
        mended.push(file.mend(&search.found)?);
    }
    tell_all(&mended, invocation)?;
    let left = mended.iter().flat_map(|file| &file.left).next();
    left.map_or(Ok(()), |(placeholder, why)| Err(not_put_back(placeholder, *why).into()))
}

/// The scrubber with this data folder's key, which recognises the placeholders that were made with it.
fn scrubber(invocation: &Invocation) -> anyhow::Result<Scrubber> {
    let folder = DataFolder::existing(data_folder::location(&invocation.in_force)?)?;
    let settings = &invocation.in_force.settings;
    let database = folder.map(|folder| folder.database(settings.store.backend));
    let key = database.and_then(|database| fs::read(database.with_file_name(KEY_FILE)).ok());
    let key = key.and_then(|key| <[u8; 32]>::try_from(key).ok());
    let settings = parts::scrub_settings(settings)?;
    key.map(|key| settings.scrubber(&key)).ok_or_else(|| {
        Refused::new("this data folder has no key, so placeholders cannot be recognised")
            .hint("placeholders belong to one data folder: pass the --data that infold ran with")
            .into()
    })
}

/// Why a placeholder was left in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    NotFound,
    /// Several secrets have this placeholder.
    Several,
    /// The secret has several lines.
    Lines,
}

fn not_put_back(placeholder: &str, why: Left) -> Refused {
    let (problem, hint) = match why {
        Left::NotFound => ("was not found", "name a file that contains it, such as a backup, with --from FILE"),
        Left::Several => ("could be any of several", "name the one file that contains the right one with --from FILE"),
        Left::Lines => (
            "has several lines, and a tool may have shown them differently from the file",
            "restore the file from a backup",
        ),
    };
    Refused::new(format!("the secret for {placeholder} {problem}")).hint(hint)
}

/// A file that is to get its secrets back, and the placeholders in it.
struct Masked {
    shown: String,
    path: PathBuf,
    text: String,
    metadata: Metadata,
    placeholders: Vec<String>,
}

/// What was done to a file: how many secrets were put back, and which placeholders were left.
struct Mended {
    shown: String,
    put_back: usize,
    left: Vec<(String, Left)>,
}

impl Masked {
    fn read(file: &Path, scrubber: &Scrubber) -> anyhow::Result<Self> {
        let shown = file.display().to_string();
        let cannot = || format!("cannot read {shown}");
        // If the name is a link, the file behind it is changed, and the link stays.
        let path = file
            .canonicalize()
            .map_err(|error| Refused::new(format!("cannot read {shown}: {error}")).hint("name a file that exists"))?;
        let metadata = fs::metadata(&path).with_context(cannot)?;
        if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
            let problem = format!("{shown} is not a file of at most {FILE_BYTES_MAX} bytes");
            return Err(Refused::new(problem).hint("name the file that contains the placeholder").into());
        }
        let mut bytes = Vec::new();
        fs::File::open(&path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).with_context(cannot)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Refused::new(format!("{shown} is not UTF-8")).hint("restore it from a backup"))?;
        let mut placeholders: Vec<String> = scrubber.own_placeholders(&text).map(str::to_owned).collect();
        placeholders.sort();
        placeholders.dedup();
        Ok(Self { shown, path, text, metadata, placeholders })
    }

    /// Puts back the secrets that were found. A file that gets none is not touched.
    fn mend(&self, found: &BTreeMap<String, FoundSecrets>) -> anyhow::Result<Mended> {
        let mut text = self.text.clone();
        let mut put_back = 0;
        let mut left = Vec::new();
        for placeholder in &self.placeholders {
            match found.get(placeholder) {
                Some(FoundSecrets::One(secret)) if secret.contains('\n') => {
                    left.push((placeholder.clone(), Left::Lines))
                }
                Some(FoundSecrets::One(secret)) => {
                    put_back += text.matches(placeholder.as_str()).count();
                    text = text.replace(placeholder, secret);
                }
                Some(FoundSecrets::Several) => left.push((placeholder.clone(), Left::Several)),
                None => left.push((placeholder.clone(), Left::NotFound)),
            }
        }
        if put_back > 0 {
            self.write(&text)?;
        }
        Ok(Mended { shown: self.shown.clone(), put_back, left })
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        whole_file::write(&self.path, IfThere::Replace, |writer| Ok(writer.write_all(text.as_bytes())?))?;
        // A new file belongs to its writer alone, so its owner and mode are set to what they were.
        let made = fs::metadata(&self.path)?;
        if (made.uid(), made.gid()) != (self.metadata.uid(), self.metadata.gid()) {
            chown(&self.path, Some(self.metadata.uid()), Some(self.metadata.gid()))
                .with_context(|| format!("cannot give {} back to its owner", self.shown))?;
        }
        Ok(fs::set_permissions(&self.path, self.metadata.permissions())?)
    }
}

fn tell_all(mended: &[Mended], invocation: &Invocation) -> anyhow::Result<()> {
    if invocation.output.form == Form::Json {
        let file = |file: &Mended| {
            let left: Vec<&String> = file.left.iter().map(|(placeholder, _)| placeholder).collect();
            json!({"path": file.shown, "restored": file.put_back, "left": left})
        };
        return invocation.output.json(&json!({"files": mended.iter().map(file).collect::<Vec<_>>()}));
    }
    for file in mended {
        let secrets = if file.put_back == 1 { "secret" } else { "secrets" };
        invocation.output.text(&format!("{}: {} {secrets} restored\n", file.shown, file.put_back))?;
        if file.put_back == 0 && file.left.is_empty() {
            tell("note", format_args!("{} contains no placeholder of this data folder", file.shown));
        }
    }
    Ok(())
}
