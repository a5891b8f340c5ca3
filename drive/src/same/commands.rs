//! Commands that work on files: `fork`, `rescue`, `replay` and `scrub`, on recorded sessions and on our fixtures.
//!
//! Both programs run in the same folder, one after the other, because some of what they write names it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};

use super::compare::{Group, Pair};
use super::moves::handles;
use super::names::Names;
use super::program::Program;
use super::requests::files_below;
use super::sessions::spread;
use xtask::workspace::Workspace;

/// Recordings that commands work on, beside the fixtures.
const RECORDINGS: usize = 20;
/// Files that are worked on at once.
const WORKERS: usize = 2;
/// How many offloaded results of each rescue are read back.
const READ_BACK_MAX: usize = 5;
/// The data that the page of a replay draws lies between these.
const PAGE_DATA: (&str, &str) = ("<script id=\"data\" type=\"application/json\">", "</script>");

/// Each way to fork that changes the text.
const FORKS: [(&str, &[&str]); 8] = [
    ("seed", &["--profile", "seed"]),
    ("seed-short", &["--profile", "seed", "--budget", "20000", "--prompt", "Write the tests."]),
    ("recall", &["--profile", "recall"]),
    ("recall-short", &["--profile", "recall", "--budget", "20000", "--prompt", "Write the tests."]),
    ("anthropic", &["--to", "anthropic"]),
    ("openai", &["--to", "openai"]),
    ("opencode", &["--to", "opencode"]),
    ("json", &["--json", "--profile", "recall", "--budget", "100000"]),
];

/// Windows that sessions are rescued for. Older programs took one default for all models, so each names its own.
const RESCUES: [(&str, &[&str]); 4] = [
    ("usual", &["--window", "200000"]),
    ("forced", &["--window", "200000", "--force"]),
    ("100k", &["--window", "100000"]),
    ("30k", &["--window", "30000", "--reserve", "8000"]),
];

/// Each way to replay: its name, and its arguments.
const REPLAYS: [(&str, &[&str]); 2] = [("as-recorded", &[]), ("never-compacting", &["--ignore-compactions"])];

/// A command that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Fork,
    Rescue,
    Replay,
    Scrub,
}

/// One output of a command, named.
#[derive(Debug)]
struct Made {
    name: String,
    form: OutputForm,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputForm {
    Text,
    Json,
}

/// The files that commands work on, the same in every run.
pub fn files(workspace: &Workspace) -> Vec<PathBuf> {
    let recorded = files_below(&workspace.test_data().join("sessions/raw"), ".jsonl.gz");
    let named: Vec<(String, PathBuf)> = recorded
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name.split("__").next().unwrap_or_default().to_owned(), path)
        })
        .collect();
    let recorded = spread(named, |(source, _)| source, RECORDINGS).into_iter().map(|(_, path)| path);
    let fixtures = ["claude-code", "codex", "opencode"]
        .into_iter()
        .flat_map(|client| files_below(&workspace.root.join("fixtures").join(client), ""));
    fixtures.chain(recorded).collect()
}

/// The same files, and one with strings that are secrets or look like some.
pub fn files_with_secrets(workspace: &Workspace) -> Vec<PathBuf> {
    let cases = workspace.test_data().join("secrets/rule_cases.jsonl.gz");
    files(workspace).into_iter().chain(cases.is_file().then_some(cases)).collect()
}

/// Runs a command of both programs on every file.
pub fn compare(
    programs: &Pair<Program>,
    files: &[PathBuf],
    what: What,
    folder: &Path,
    group: &mut Group,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let group = Mutex::new(group);
    std::thread::scope(|scope| {
        let worker = |number: usize| {
            let home = folder.join(number.to_string());
            let (next, group) = (&next, &group);
            move || -> Result<()> {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let before = made(&programs.before, file, what, &home)?;
                    let after = made(&programs.after, file, what, &home)?;
                    let mut group = group.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    judge(&mut group, file, names_in(programs, &home), Pair { before, after })?;
                }
                Ok(())
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|number| scope.spawn(worker(number))).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(done) => done,
            Err(_) => anyhow::bail!("a worker panicked"),
        })
    })
}

/// The names that are taken out of what each program makes in a home.
fn names_in(programs: &Pair<Program>, home: &Path) -> Pair<Names> {
    let home = home.to_string_lossy();
    programs.as_ref().map(|program| Names::in_folders(&[&home, &program.path().to_string_lossy()]))
}

fn judge(group: &mut Group, file: &Path, mut names: Pair<Names>, made: Pair<Vec<Made>>) -> Result<()> {
    let is_equal = |(before, after): (&Made, &Made)| before.text == after.text;
    if !made.before.iter().zip(&made.after).all(is_equal) {
        let mut input = Vec::new();
        infold_wire::open(file)?.read_to_end(&mut input)?;
        names.before.leave(&input);
        names.after.leave(&input);
    }
    let shown = file.file_name().unwrap_or_default().to_string_lossy();
    let listed = made.as_ref().map(|made| made.iter().map(|one| format!("{}\n", one.name)).collect::<String>());
    let listed = listed.as_ref().map(|listed| listed.as_bytes());
    group.compare(&format!("{shown}/list"), &mut names, listed)?;
    for (before, after) in made.before.iter().zip(&made.after) {
        let name = format!("{shown}/{}", before.name);
        let texts = Pair { before: &*before.text, after: &*after.text };
        match before.form {
            OutputForm::Text => group.compare(&name, &mut names, texts)?,
            OutputForm::Json => group.compare_values(&name, &mut names, texts)?,
        }
    }
    Ok(())
}

/// Runs a command on a file, in a home that is empty at first, and returns all that it makes.
fn made(program: &Program, file: &Path, what: What, home: &Path) -> Result<Vec<Made>> {
    if home.exists() {
        fs::remove_dir_all(home)?;
    }
    fs::create_dir_all(home)?;
    match what {
        What::Fork => forks(program, file, home),
        What::Rescue => rescues(program, file, home),
        What::Replay => replays(program, file, home),
        What::Scrub => scrubbed(program, file, home),
    }
}

fn forks(program: &Program, file: &Path, home: &Path) -> Result<Vec<Made>> {
    let mut all = Vec::new();
    for (name, options) in FORKS {
        let ran = program.run(home, &arguments("fork", file, options), Stdio::null())?;
        let form = if name == "json" { OutputForm::Json } else { OutputForm::Text };
        all.push(Made { name: format!("{name} exit {:?}", ran.code), form, text: ran.stdout });
    }
    // Standard input can be read only once, so turns that were undone stay in. It does not take compressed files.
    if file.extension().is_some_and(|ending| ending == "jsonl") {
        let ran = program.run(home, &arguments("fork", Path::new("-"), &[]), File::open(file)?.into())?;
        all.push(Made { name: format!("input exit {:?}", ran.code), form: OutputForm::Text, text: ran.stdout });
    }
    Ok(all)
}

fn rescues(program: &Program, file: &Path, home: &Path) -> Result<Vec<Made>> {
    let mut all = Vec::new();
    for (name, options) in RESCUES {
        let out = home.join(name);
        fs::create_dir_all(&out)?;
        let mut given = arguments("rescue", file, options);
        given.extend(["--json".into(), "--output".into(), out.clone().into()]);
        let ran = program.run(home, &given, Stdio::null())?;
        let read_back = handles(&ran.stdout);
        all.push(Made { name: format!("{name} exit {:?}", ran.code), form: OutputForm::Json, text: ran.stdout });
        for path in files_below(&out, "") {
            let text = [path.to_string_lossy().as_bytes(), b"\n", &*fs::read(&path)?].concat();
            all.push(Made { name: format!("{name} file"), form: OutputForm::Text, text });
        }
        for handle in read_back.into_iter().take(READ_BACK_MAX) {
            let ran = program.run(home, &["result".into(), handle.into()], Stdio::null())?;
            all.push(Made {
                name: format!("{name} result exit {:?}", ran.code),
                form: OutputForm::Text,
                text: ran.stdout,
            });
        }
    }
    Ok(all)
}

fn replays(program: &Program, file: &Path, home: &Path) -> Result<Vec<Made>> {
    let mut all = Vec::new();
    for (name, options) in REPLAYS {
        let page = home.join(format!("{name}.html"));
        let mut given = arguments("replay", file, options);
        given.extend(["--json".into(), "--html".into(), page.clone().into()]);
        let ran = program.run(home, &given, Stdio::null())?;
        all.push(Made { name: format!("{name} exit {:?}", ran.code), form: OutputForm::Json, text: ran.stdout });
        let page = fs::read_to_string(&page).unwrap_or_default();
        let drawn = page.split_once(PAGE_DATA.0).and_then(|(_, rest)| rest.split_once(PAGE_DATA.1));
        let drawn = drawn.map(|(data, _)| data.as_bytes().to_vec());
        all.push(Made {
            name: format!("{name} page"),
            form: OutputForm::Json,
            text: drawn.context("the page has no data")?,
        });
    }
    Ok(all)
}

fn scrubbed(program: &Program, file: &Path, home: &Path) -> Result<Vec<Made>> {
    let input = home.join("input");
    std::io::copy(&mut infold_wire::open(file)?, &mut File::create(&input)?)?;
    let ran = program.run(home, &["scrub".into()], File::open(&input)?.into())?;
    Ok(vec![Made { name: format!("exit {:?}", ran.code), form: OutputForm::Text, text: ran.stdout }])
}

fn arguments(command: &str, file: &Path, options: &[&str]) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec![command.into(), file.into()];
    all.extend(options.iter().map(OsString::from));
    all
}
