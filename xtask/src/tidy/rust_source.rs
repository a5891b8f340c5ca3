//! What a Rust file must look like: a header, a bounded length, bounded functions, nothing left
//! undone, and in the core no I/O, clock or randomness.
//!
//! Files are read as tokens, so that comments and strings do not count as code.

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::source_file::{SourceFile, Word};

#[cfg(test)]
mod tests;

/// A file over this length has more than one subject.
const FILE_LINES_MAX: usize = 500;

/// A function over this length does not fit a screen.
const FUNCTION_LINES_MAX: usize = 70;

/// Words that bring I/O, a clock or randomness into the core.
const NOT_IN_CORE: [&str; 6] = ["SystemTime", "Instant", "rand", "getrandom", "tokio", "thread_rng"];

/// Modules of the standard library that the core does without.
const NOT_IN_CORE_STD: [&str; 5] = ["fs", "net", "env", "process", "thread"];

/// What is wrong with one Rust file.
pub fn problems(file: &SourceFile) -> Vec<String> {
    let mut problems = Vec::new();
    if !file.text.starts_with("//!") {
        problems.push(format!("{}: starts without `//!` that says what it is for", file.path));
    }
    let lines = file.text.lines().count();
    if lines > FILE_LINES_MAX {
        problems.push(format!("{}: {lines} lines, the limit is {FILE_LINES_MAX}: split it", file.path));
    }

    let parsed = match file.parsed() {
        Ok(parsed) => parsed,
        Err(error) => {
            problems.push(format!("{}: does not parse: {error}", file.path));
            return problems;
        }
    };
    let mut functions = LongFunctions { path: &file.path, problems: &mut problems };
    functions.visit_file(parsed);

    let words = file.words();
    problems.extend(undone(&file.path, words));
    let is_test = file.path.ends_with("/tests.rs") || file.path.contains("/tests/");
    if file.path.starts_with("crates/infold-core/") && !is_test {
        problems.extend(impure(&file.path, words));
    }
    problems
}

/// Finds functions that do not fit a screen.
struct LongFunctions<'a> {
    path: &'a str,
    problems: &'a mut Vec<String>,
}

impl LongFunctions<'_> {
    fn check(&mut self, name: &syn::Ident, body: &syn::Block) {
        let span = body.span();
        let start = name.span().start().line;
        let lines = span.end().line + 1 - start;
        if lines > FUNCTION_LINES_MAX {
            self.problems.push(format!(
                "{}:{start}: `{name}` has {lines} lines, the limit is {FUNCTION_LINES_MAX}: split it",
                self.path
            ));
        }
    }
}

impl<'ast> Visit<'ast> for LongFunctions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.check(&function.sig.ident, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check(&function.sig.ident, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.check(&function.sig.ident, body);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

/// Finds work that was put off, and tests that do not run.
fn undone(path: &str, words: &[Word]) -> Vec<String> {
    let mut problems = Vec::new();
    for window in words.windows(3) {
        let [first, second, third] = window else { continue };
        let put_off = matches!(first.text.as_str(), "todo" | "unimplemented") && second.text == "!";
        if put_off {
            problems.push(format!("{path}:{}: `{}!` is left in", first.line, first.text));
        }
        if first.text == "#" && second.text == "(" && third.text == "ignore" {
            problems.push(format!("{path}:{}: an ignored test; run it or remove it", first.line));
        }
    }
    problems
}

/// Finds I/O, clocks and randomness.
fn impure(path: &str, words: &[Word]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut depth_in_std: Option<usize> = None;
    for (at, word) in words.iter().enumerate() {
        let after_std = at >= 3 && words[at - 3].text == "std" && words[at - 1].text == ":";
        match (word.text.as_str(), depth_in_std) {
            ("(", None) if after_std => depth_in_std = Some(0),
            ("(", Some(depth)) => depth_in_std = Some(depth + 1),
            (")", Some(0)) => depth_in_std = None,
            (")", Some(depth)) => depth_in_std = Some(depth - 1),
            _ => {}
        }
        let std_module = NOT_IN_CORE_STD.contains(&word.text.as_str());
        let from_std = std_module && (after_std || depth_in_std == Some(0));
        if NOT_IN_CORE.contains(&word.text.as_str()) || from_std {
            problems.push(format!(
                "{path}:{}: `{}` in the core, which has no I/O, clock or randomness",
                word.line, word.text
            ));
        }
    }
    problems
}
