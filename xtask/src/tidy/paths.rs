//! The paths through the code that the map shows whole: each has a budget of files and lines, and each of its files is
//! reached from an earlier one.
//!
//! A file is reached if an earlier one declares it as a module, or calls or imports something that it defines or
//! implements. Names that many files define prove nothing. Whether a file is missing on a path, only a reader can say.

use std::collections::{HashMap, HashSet};

use syn::Type;
use syn::visit::Visit;

use super::documents::MAP;
use super::source_file::{SourceFile, Word};

#[cfg(test)]
mod tests;

/// The part of the map that shows the paths.
const HEADING: &str = "## Following one call";

/// What each path may cost a reader: how its first line begins, its files, and their lines.
const BUDGETS: [PathBudget; 4] = [
    PathBudget { begins: "`branch_create` over HTTP", files_max: 12, lines_max: 2_500 },
    PathBudget { begins: "`POST /anthropic/v1/messages`", files_max: 16, lines_max: 4_000 },
    PathBudget { begins: "`infold fork FILE`", files_max: 12, lines_max: 2_500 },
    PathBudget { begins: "`infold exec PROMPT`", files_max: 12, lines_max: 2_500 },
];

/// A name that more files define than this does not show where a reader goes next.
const DEFINITIONS_MAX: usize = 2;

struct PathBudget {
    begins: &'static str,
    files_max: usize,
    lines_max: usize,
}

/// The outcome of measuring and following the paths.
pub struct PathReport {
    /// A line for each path with a budget.
    pub figures: Vec<String>,
    /// One line for each path over its budget, and for each file that nothing leads to.
    pub problems: Vec<String>,
}

/// Measures the paths of the map and follows them.
pub fn report(files: &[SourceFile]) -> PathReport {
    let sources = Sources::of(files);
    let map = files.iter().find(|file| file.path == MAP).map_or("", |file| &file.text);
    let paths = paths_of(map);
    let mut report = PathReport { figures: Vec::new(), problems: Vec::new() };
    for budget in &BUDGETS {
        match paths.iter().find(|(title, _)| title.starts_with(budget.begins)) {
            Some((_, path)) => report.measure(budget, path, &sources),
            None => report.problems.push(format!("{MAP} shows no path {}", budget.begins)),
        }
    }
    for (_, path) in &paths {
        report.problems.extend(sources.unreached(path));
    }
    report
}

impl PathReport {
    fn measure(&mut self, budget: &PathBudget, path: &[String], sources: &Sources<'_>) {
        let PathBudget { begins, files_max, lines_max } = budget;
        let lines: usize = path.iter().map(|file| sources.lines(file)).sum();
        let line = format!("{begins}: {} of {files_max} files, {lines} of {lines_max} lines", path.len());
        if path.len() > *files_max || lines > *lines_max {
            self.problems.push(format!("over its budget: {line}"));
        }
        self.figures.push(line);
    }
}

/// The paths of the map: the line that each begins with, and its files in order, each once.
fn paths_of(map: &str) -> Vec<(String, Vec<String>)> {
    let section = map.split(HEADING).nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    let mut paths: Vec<(String, Vec<String>)> = Vec::new();
    for line in section.lines() {
        if line.starts_with('`') {
            paths.push((line.to_owned(), Vec::new()));
            continue;
        }
        let Some((_, files)) = paths.last_mut() else { continue };
        for word in line.split('`').skip(1).step_by(2) {
            if word.starts_with("crates/") && !files.iter().any(|file| file == word) {
                files.push(word.to_owned());
            }
        }
    }
    paths
}

/// What the shipped sources define and name.
struct Sources<'a> {
    files: HashMap<&'a str, SourceNames<'a>>,
    /// In how many files each name is defined.
    definitions: HashMap<String, usize>,
}

struct SourceNames<'a> {
    text: &'a str,
    defined: HashSet<String>,
    named: HashSet<String>,
    /// What follows each `module::`.
    paths: HashSet<(String, String)>,
}

impl<'a> Sources<'a> {
    fn of(files: &'a [SourceFile]) -> Self {
        let mut sources = Self { files: HashMap::new(), definitions: HashMap::new() };
        for file in files.iter().filter(|file| file.is_shipped()) {
            let mut defined = Definitions::default();
            if let Ok(parsed) = file.parsed() {
                defined.visit_file(parsed);
            }
            let words = file.words();
            let pairs = words.windows(4).filter(|four| four[1].text == ":" && four[2].text == ":");
            let paths = pairs.map(|four| (four[0].text.clone(), four[3].text.clone())).collect();
            let named = words.windows(3).filter(|three| is_use(three)).map(|three| three[1].text.clone()).collect();
            // A module is named by its file.
            defined.0.extend(stem_of(&file.path).map(str::to_owned));
            for name in &defined.0 {
                *sources.definitions.entry(name.clone()).or_default() += 1;
            }
            sources.files.insert(&file.path, SourceNames { text: &file.text, defined: defined.0, named, paths });
        }
        sources
    }

    fn lines(&self, path: &str) -> usize {
        self.files.get(path).map_or(0, |file| file.text.lines().count())
    }

    /// Files of a path that nothing in front of them leads to.
    fn unreached(&self, path: &[String]) -> Vec<String> {
        let reached = |at: usize| path[..at].iter().any(|earlier| self.leads(earlier, &path[at]));
        let lost = (1..path.len()).filter(|at| !reached(*at));
        lost.map(|at| format!("{MAP}: nothing on the path in front of {} leads to it", path[at])).collect()
    }

    fn leads(&self, from: &str, to: &str) -> bool {
        let (Some(from_file), Some(to_file)) = (self.files.get(from), self.files.get(to)) else { return false };
        let declares = parent_of(to).is_some_and(|parents| parents.iter().any(|parent| parent == from));
        let telling = |name: &&String| self.definitions.get(*name).is_some_and(|count| *count <= DEFINITIONS_MAX);
        // `view::plan` and `infold_core::decide` show the way, however many things are called `plan` or `decide`.
        let modules = [to.rsplit('/').nth(1), to.split('/').nth(1)];
        let is_named_in = |module: &str, name: &String| from_file.paths.contains(&(module.to_owned(), name.clone()));
        let in_module =
            |name: &String| modules.iter().flatten().any(|module| is_named_in(&module.replace('-', "_"), name));
        declares
            || to_file.defined.iter().filter(telling).any(|name| from_file.named.contains(name))
            || to_file.defined.iter().any(in_module)
    }
}

/// Whether the word in the middle is called, or is a part of a path: a field or a local of the same name is neither.
fn is_use(three: &[Word]) -> bool {
    let [before, _, after] = three else { return false };
    [".", ":", "use"].contains(&before.text.as_str()) || ["(", ":"].contains(&after.text.as_str())
}

/// `plan` of `crates/infold-core/src/view/plan.rs`.
fn stem_of(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.strip_suffix(".rs")
}

/// The files that may declare a file as a module of theirs.
fn parent_of(path: &str) -> Option<[String; 2]> {
    let (folder, _) = path.rsplit_once('/')?;
    Some([format!("{folder}.rs"), format!("{folder}/lib.rs")])
}

/// Functions, methods and types that a file defines, and types that it implements something for.
#[derive(Default)]
struct Definitions(HashSet<String>);

impl<'ast> Visit<'ast> for Definitions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.0.insert(item.sig.ident.to_string());
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.0.insert(item.sig.ident.to_string());
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.0.insert(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.0.insert(item.ident.to_string());
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Type::Path(path) = &*item.self_ty
            && let Some(last) = path.path.segments.last()
        {
            self.0.insert(last.ident.to_string());
        }
        syn::visit::visit_item_impl(self, item);
    }
}
