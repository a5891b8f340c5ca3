//! Gathers what was given to this run: reads the files and the environment, and decides nothing.
//!
//! Only this file of the whole workspace looks at the environment for settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::problem::{Problem, Problems};

/// Longest settings file that is read.
const FILE_MAX_BYTES: u64 = 256 * 1024;
/// How many folders upward a project's file is looked for.
const FOLDERS_MAX: usize = 64;
/// What a project's file is called.
const PROJECT_FILE: &str = ".infold.toml";

/// The environment and the folder that the program was started in.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The variables of the environment.
    pub variables: BTreeMap<String, OsString>,
    /// The folder.
    pub folder: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        Self { variables, folder: std::env::current_dir().ok() }
    }

    /// A variable's text, if it is set to something.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).and_then(|value| value.to_str()).filter(|text| !text.is_empty())
    }

    /// A folder of the base directory specification: the variable if it holds an absolute path,
    /// else the place below the home folder.
    fn base_folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let absolute = |name: &str| self.variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))
    }
}

/// `KEY=VALUE`, and the flag that it came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The flag as it is spelled.
    pub flag: &'static str,
    /// The setting's key.
    pub key: String,
    /// The value, not yet read.
    pub text: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("the form is KEY=VALUE, for example folding.max_depth=2")?;
        Ok(Self { flag: "--set", key: key.trim().to_owned(), text: value.to_owned() })
    }
}

/// The flags that change settings.
#[derive(Debug, Clone, Default)]
pub struct FlagValues {
    /// Each `--set`.
    pub set: Vec<Assignment>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<String>,
}

/// A settings file, as text.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// A file that settings were looked for in.
#[derive(Debug, Clone)]
pub struct LookedAt {
    /// The layer it stands for.
    pub layer: &'static str,
    /// Where it lies, or would lie.
    pub path: Option<PathBuf>,
    /// Whether it was there.
    pub found: FoundSettings,
}

impl LookedAt {
    /// Whether it was there.
    pub fn is_read(&self) -> bool {
        self.found == FoundSettings::Read
    }
}

/// Whether a file was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundSettings {
    /// It was read.
    Read,
    /// There is none.
    Absent,
}

/// What was given to this run, as text.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The user's file.
    pub user: Option<SettingsFile>,
    /// The project's file.
    pub project: Option<SettingsFile>,
    /// The variables that begin with `INFOLD_`, except those that are not settings.
    pub variables: BTreeMap<String, String>,
    /// The flags, in the order in which they win.
    pub flags: Vec<Assignment>,
    /// The files that were looked for.
    pub files: Vec<LookedAt>,
    /// The usual data folder.
    pub data_home: Option<PathBuf>,
    /// What deserves a word.
    pub warnings: Vec<String>,
}

/// Reads everything that may hold settings.
pub fn gather(surroundings: &Surroundings, flags: FlagValues) -> Result<Given, Problems> {
    let mut given = Given {
        data_home: surroundings.base_folder("XDG_DATA_HOME", ".local/share").map(|home| home.join("infold")),
        flags: in_order(flags),
        ..Given::default()
    };
    given.user = user_file(surroundings, &mut given.files).map_err(Problems::one)?;
    given.project = project_file(surroundings, &mut given.files, &mut given.warnings).map_err(Problems::one)?;
    given.variables = settings_variables(surroundings)?;
    Ok(given)
}

/// A flag of its own wins over `--set`, because it is the plainer way to say it.
fn in_order(flags: FlagValues) -> Vec<Assignment> {
    let mut assignments = flags.set;
    let own = [("--listen", "server.listen", flags.listen), ("--data", "data", flags.data)];
    for (flag, key, text) in own {
        assignments.extend(text.map(|text| Assignment { flag, key: key.to_owned(), text }));
    }
    assignments
}

fn user_file(surroundings: &Surroundings, files: &mut Vec<LookedAt>) -> Result<Option<SettingsFile>, Problem> {
    let named = surroundings.text("INFOLD_CONFIG").map(PathBuf::from);
    let usual = || surroundings.base_folder("XDG_CONFIG_HOME", ".config").map(|home| home.join("infold/settings.toml"));
    let Some(path) = named.clone().or_else(usual) else {
        files.push(LookedAt { layer: "user file", path: None, found: FoundSettings::Absent });
        return Ok(None);
    };
    let file = read(&path)?;
    if file.is_none() && named.is_some() {
        return Err(Problem::new(format!("INFOLD_CONFIG: no file {}", path.display()))
            .hint("create the file, or unset the variable"));
    }
    let found = if file.is_some() { FoundSettings::Read } else { FoundSettings::Absent };
    files.push(LookedAt { layer: "user file", path: Some(path), found });
    Ok(file)
}

fn project_file(
    surroundings: &Surroundings,
    files: &mut Vec<LookedAt>,
    warnings: &mut Vec<String>,
) -> Result<Option<SettingsFile>, Problem> {
    let folders = surroundings.folder.iter().flat_map(|folder| folder.ancestors()).take(FOLDERS_MAX);
    for path in folders.map(|folder| folder.join(PROJECT_FILE)) {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        // In a folder that many can write to, such as /tmp, a stranger could put one above ours.
        let owner = metadata.uid();
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            warnings.push(format!("ignoring {}: it belongs to another user (uid {owner})", path.display()));
            continue;
        }
        let file = read(&path)?;
        files.push(LookedAt { layer: "project file", path: Some(path), found: FoundSettings::Read });
        return Ok(file);
    }
    files.push(LookedAt { layer: "project file", path: None, found: FoundSettings::Absent });
    Ok(None)
}

fn read(path: &Path) -> Result<Option<SettingsFile>, Problem> {
    let cannot = |why: String| Problem::new(format!("settings file {}: {why}", path.display()));
    // A pipe in this place would make every command hang, so the kind is looked at before opening.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(cannot("not a plain file".to_owned())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(cannot(error.to_string())),
    }
    let mut bytes = Vec::new();
    let mut file = fs::File::open(path).map_err(|error| cannot(error.to_string()))?.take(FILE_MAX_BYTES + 1);
    file.read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(cannot(format!("longer than {FILE_MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| cannot("not UTF-8".to_owned()))?;
    Ok(Some(SettingsFile { path: path.to_owned(), text }))
}

fn settings_variables(surroundings: &Surroundings) -> Result<BTreeMap<String, String>, Problems> {
    let mut variables = BTreeMap::new();
    for (name, value) in &surroundings.variables {
        // The last is for this project's own tests, and stands in the environment of whoever runs them.
        if !name.starts_with("INFOLD_") || matches!(name.as_str(), "INFOLD_CONFIG" | "INFOLD_TEST_DATA") {
            continue;
        }
        let Some(text) = value.to_str() else {
            return Err(Problems::one(Problem::new(format!("{name} in the environment is not UTF-8"))));
        };
        let held_still = matches!(name.as_str(), "INFOLD_DATA" | "INFOLD_LISTEN");
        if !(held_still && text.is_empty()) {
            variables.insert(name.clone(), text.to_owned());
        }
    }
    Ok(variables)
}
