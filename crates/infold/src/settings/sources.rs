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
pub const FILE_MAX_BYTES: u64 = 256 * 1024;
/// How many folders upward a project's file is looked for.
const FOLDERS_MAX: usize = 64;
/// The name of a project's file.
const PROJECT_FILE: &str = ".infold.toml";

/// The environment and the folder that the program was started in.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The environment variables whose names are UTF-8.
    pub variables: BTreeMap<String, OsString>,
    /// The folder that the program was started in; `None` if it cannot be found out.
    pub folder: Option<PathBuf>,
}

impl Surroundings {
    /// The environment and the folder of this process.
    pub fn of_this_process() -> Self {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        Self { variables, folder: std::env::current_dir().ok() }
    }

    /// A variable's text; `None` if it is not set, empty or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).and_then(|value| value.to_str()).filter(|text| !text.is_empty())
    }

    /// The user's home folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.variables.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
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
    /// The flag as it is spelled, for messages.
    pub flag: &'static str,
    /// The setting's key, with dots between its levels.
    pub key: String,
    /// The value as it was typed, not yet parsed.
    pub text: String,
}

impl std::fmt::Display for Assignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.key, self.text)
    }
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("the form is KEY=VALUE, for example folding.max_depth=2")?;
        Ok(Self { flag: "--set", key: key.trim().to_owned(), text: value.to_owned() })
    }
}

/// The flags that override settings.
#[derive(Debug, Clone, Default)]
pub struct FlagValues {
    /// Every `--set`, in the order in which they were typed.
    pub set: Vec<Assignment>,
    pub listen: Option<String>,
    pub data: Option<String>,
}

/// A settings file, as text.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    pub path: PathBuf,
    /// The whole text, not yet parsed.
    pub text: String,
}

/// A file that settings were looked for in.
#[derive(Debug, Clone)]
pub struct LookedAt {
    /// The layer that it belongs to.
    pub layer: &'static str,
    /// Its path, whether or not it exists; `None` if there is no such path.
    pub path: Option<PathBuf>,
    pub found: FoundSettings,
}

impl LookedAt {
    /// Whether the file exists and was read.
    pub fn is_read(&self) -> bool {
        self.found == FoundSettings::Read
    }
}

/// Whether a settings file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundSettings {
    /// It exists and was read.
    Read,
    /// It does not exist.
    Absent,
}

/// What was given to this run, as text.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The user's own file.
    pub user: Option<SettingsFile>,
    /// The file of the project that the current folder belongs to.
    pub project: Option<SettingsFile>,
    /// The variables that begin with `INFOLD_`, without those that are not settings.
    pub variables: BTreeMap<String, String>,
    /// The flags; later ones win.
    pub flags: Vec<Assignment>,
    /// The files that settings were looked for in, whether or not they exist.
    pub files: Vec<LookedAt>,
    /// The data folder that is used if no setting names one; `None` without a home folder.
    pub data_home: Option<PathBuf>,
    /// Warnings for the user, such as a project file that was ignored.
    pub warnings: Vec<String>,
}

/// Reads the files, the environment and the flags that may hold settings.
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

/// The flags in the order in which they apply. `--listen` and `--data` come last and so win over `--set`.
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
        // In a folder that many can write to, such as /tmp, a stranger could put a file above the user's folders.
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
    // Opening a pipe would make every command hang, so the kind of file is checked first.
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
        // INFOLD_TEST_DATA is for infold's own tests, and is in the environment of whoever runs them.
        if !name.starts_with("INFOLD_") || matches!(name.as_str(), "INFOLD_CONFIG" | "INFOLD_TEST_DATA") {
            continue;
        }
        let Some(text) = value.to_str() else {
            return Err(Problems::one(Problem::new(format!("{name} in the environment is not UTF-8"))));
        };
        let may_be_empty = matches!(name.as_str(), "INFOLD_DATA" | "INFOLD_LISTEN");
        if !(may_be_empty && text.is_empty()) {
            variables.insert(name.clone(), text.to_owned());
        }
    }
    Ok(variables)
}
