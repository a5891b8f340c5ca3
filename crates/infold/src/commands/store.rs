//! `infold store`: where the state is, the key that machines have to share, and moving everything from one place to the
//! other.

use std::fs;
use std::path::Path;

use anyhow::Context;
use infold_store::{KEY_BYTES, KEY_FILE, Store};
use serde_json::json;

use super::Invocation;
use crate::data_folder::{DataFolder, quoted};
use crate::draw::thousands;
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;
use crate::settings::{Backend, Settings};
use crate::whole_file::{self, IfThere};
use crate::{cluster, parts};

/// How many rows are copied between two notes of how far it is.
const ROWS_BETWEEN_NOTES: u64 = 10_000;

/// Arguments of `store`.
#[derive(Debug, clap::Args)]
pub struct StoreArgs {
    /// What to do
    #[command(subcommand)]
    pub action: StoreAction,
}

/// What can be done.
#[derive(Debug, clap::Subcommand)]
pub enum StoreAction {
    /// Say where the state is, and how far this machine's index of it has come
    Status,
    /// Say where the cluster's key is on this machine, or take it over from another machine
    #[command(after_help = help::text(
        &["Branch ids and placeholders of secrets are made with this key, so all machines of a cluster need the same one. \
           It is as secret as a password: copy it over an encrypted connection, for example with scp, keep a copy in a \
           safe place, and remove other copies. Without it the state cannot be used."],
        &[
            ("infold store key", "where it is"),
            ("infold store key --from infold.key", "use the one of another machine"),
        ],
    ))]
    Key(KeyArgs),
    /// Copy the whole state between this machine's own file and the cluster
    #[command(after_help = help::text(
        &["Stop every infold that uses either of them first. A copy that was cut off goes on where it was when the command \
           is run again. At the end both are compared."],
        &[
            ("infold store move --to nats", "from this machine's file into the cluster"),
            ("infold store move --to sqlite", "back"),
        ],
    ))]
    Move(MoveArgs),
    /// Make the cluster's log anew from this machine's index, where the log has lost entries
    #[command(after_help = help::text(
        &["For a log that was put back from an old copy, or is gone. Stop infold on all machines first, and run this on the \
           machine that has seen the most: each one says how much that is when it refuses to start. What the index does not \
           have is lost. Without --yes this only says what the log lacks."],
        &[
            ("infold store republish", "say what the log lacks"),
            ("infold store republish --yes", "make the log anew"),
        ],
    ))]
    Republish(RepublishArgs),
}

/// Arguments of `store key`.
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    /// The key file of another machine, to be used on this one
    #[arg(long, value_name = "FILE")]
    pub from: Option<std::path::PathBuf>,
}

/// Arguments of `store move`.
#[derive(Debug, clap::Args)]
pub struct MoveArgs {
    /// Where to
    #[arg(long, value_enum)]
    pub to: Destination,
}

/// Arguments of `store republish`.
#[derive(Debug, clap::Args)]
pub struct RepublishArgs {
    /// Make the log anew, and do not only say what it lacks
    #[arg(long)]
    pub yes: bool,
}

/// Where the state can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Destination {
    /// The cluster that store.nats names
    Nats,
    /// This machine's own file
    Sqlite,
}

pub fn run(args: &StoreArgs, invocation: &Invocation) -> anyhow::Result<()> {
    match &args.action {
        StoreAction::Status => status(invocation),
        StoreAction::Key(args) => key(args, invocation),
        StoreAction::Move(args) => move_state(args, invocation),
        StoreAction::Republish(args) => republish(args, invocation),
    }
}

fn status(invocation: &Invocation) -> anyhow::Result<()> {
    let (folder, settings) = (invocation.data_folder()?, &invocation.in_force.settings);
    let store = parts::open_store(&folder, settings)?;
    let digest = parts::asking_runtime()?.block_on(store.shared_digest())?;
    let state = store.cluster();
    match invocation.output.form {
        Form::Text => {
            let path = store.path().display();
            let said = state.as_ref().map_or_else(|| format!("state is in {path}"), cluster::describe);
            invocation.output.text(&format!("{said}\ndigest {digest}\n"))?;
        }
        Form::Json => invocation.output.json(&json!({
            "path": store.path(), "digest": digest,
            "cluster": state.map(|state| json!({
                "name": state.name, "stream": state.stream, "replicas": state.replicas, "leader": state.leader,
                "last": state.last, "applied": state.applied,
            })),
        }))?,
    }
    Ok(())
}

fn key(args: &KeyArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let folder = invocation.data_folder()?;
    let index = folder.database(Backend::Nats);
    let path = index.with_file_name(KEY_FILE);
    if let Some(from) = &args.from {
        take_key(from, &index)?;
    }
    let is_there = path.exists();
    match invocation.output.form {
        Form::Json => invocation.output.json(&json!({"path": path, "exists": is_there}))?,
        Form::Text if is_there => invocation.output.text(&format!("the cluster's key is in {}\n", path.display()))?,
        Form::Text => invocation.output.text(&format!(
            "there is no key yet: it is made in {} when this machine first makes a cluster's log; to join one, take its key \
             over with `infold store key --from FILE`\n",
            path.display()
        ))?,
    }
    Ok(())
}

/// Puts a key in place of the one that is there, if nothing depends on that one.
fn take_key(from: &Path, index: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(from).with_context(|| from.display().to_string())?;
    if bytes.len() != KEY_BYTES {
        return Err(Refused::new(format!("{} is not a key of {KEY_BYTES} bytes", from.display()))
            .hint("copy the file infold.key from the folder `cluster` in the data folder of another machine")
            .into());
    }
    let folder = index.parent().unwrap_or(index);
    let folder = DataFolder::create(folder.to_owned())?;
    let path = folder.path().join(KEY_FILE);
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if index.exists() {
        return Err(Refused::new(format!("{} was made with another key", index.display()))
            .hint(format!(
                "if this machine has never worked with the cluster, remove {} and try again",
                quoted(folder.path())
            ))
            .into());
    }
    whole_file::write(&path, IfThere::Replace, |file| Ok(file.write_all(&bytes)?))
}

fn move_state(args: &MoveArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let (folder, settings) = (invocation.data_folder()?, &invocation.in_force.settings);
    let at = |backend: Backend| -> anyhow::Result<Store> {
        let settings =
            Settings { store: crate::settings::Store { backend, ..settings.store.clone() }, ..settings.clone() };
        parts::open_store(&folder, &settings)
    };
    let (from, to) = match args.to {
        Destination::Nats => (Backend::Sqlite, Backend::Nats),
        Destination::Sqlite => (Backend::Nats, Backend::Sqlite),
    };
    share_key(&folder.database(from), &folder.database(to))?;
    let (source, target) = (at(from)?, at(to)?);
    let said_up_to = std::cell::Cell::new(0);
    let said = |rows: u64| {
        if !invocation.globals.quiet && rows >= said_up_to.get() + ROWS_BETWEEN_NOTES {
            said_up_to.set(rows);
            tell("note", format!("{} rows", thousands(rows)));
        }
    };
    let copied = parts::asking_runtime()?.block_on(source.copy_shared_to(&target, said)).map_err(parts::store_error)?;
    match invocation.output.form {
        Form::Json => invocation.output.json(&json!({
            "rows": copied.rows, "written": copied.written, "digest": copied.digest,
        }))?,
        Form::Text => invocation.output.text(&format!(
            "{} rows are in both now, {} of them new; digest {}\nuse it: set store.backend = \"{}\"\n",
            thousands(copied.rows),
            thousands(copied.written),
            copied.digest,
            match args.to {
                Destination::Nats => "nats",
                Destination::Sqlite => "sqlite",
            }
        ))?,
    }
    Ok(())
}

fn republish(args: &RepublishArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let (folder, settings) = (invocation.data_folder()?, &invocation.in_force.settings);
    let Some(cluster) = cluster::settings(settings)? else {
        return Err(Refused::new("store.backend is not \"nats\": there is no log to make anew").into());
    };
    let index = folder.database(Backend::Nats);
    if !index.exists() {
        let hint = "run this on a machine that has worked with the cluster";
        return Err(Refused::new(format!("{} does not exist", index.display())).hint(hint).into());
    }
    // Without the cluster: it would refuse to be opened with a log that lacks what it has.
    let index = Store::open(&index, &parts::store_settings(settings)).map_err(parts::store_error)?;
    let runtime = parts::asking_runtime()?;
    let lost =
        if args.yes { runtime.block_on(index.republish(&cluster)) } else { runtime.block_on(index.lost_log(&cluster)) };
    let lost = lost.map_err(parts::store_error)?;
    match invocation.output.form {
        Form::Json => invocation.output.json(&json!({
            "problem": lost.problem, "applied": lost.applied, "digest": lost.digest, "republished": args.yes,
        }))?,
        Form::Text if args.yes => invocation.output.text(&format!(
            "the log was made anew: it goes on from entry {} of this machine's index; digest {}\n",
            thousands(lost.applied),
            lost.digest
        ))?,
        Form::Text => invocation.output.text(&format!(
            "{}; this machine's index has everything up to entry {}\n",
            lost.problem,
            thousands(lost.applied)
        ))?,
    }
    if !args.yes && !invocation.globals.quiet {
        tell("note", "nothing is changed yet: stop infold on all machines, and add --yes");
    }
    Ok(())
}

/// Gives a store that does not exist yet the key of the one that is copied.
fn share_key(from: &Path, to: &Path) -> anyhow::Result<()> {
    let (from, key) = (from.with_file_name(KEY_FILE), to.with_file_name(KEY_FILE));
    if to.exists() || key.exists() {
        return Ok(());
    }
    let bytes = fs::read(&from)
        .map_err(|_| Refused::new(format!("{} does not exist: there is nothing to move", from.display())))?;
    if let Some(folder) = key.parent() {
        DataFolder::create(folder.to_owned())?;
    }
    whole_file::write(&key, IfThere::Replace, |file| Ok(file.write_all(&bytes)?))
}
