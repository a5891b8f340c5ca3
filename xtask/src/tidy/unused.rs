//! Shipped code that only tests reach. The compiler finds what is unused inside a crate, but takes everything that is
//! public for used.
//!
//! Names decide: a public function, constant or type whose name is nowhere in the shipped sources but where it is
//! defined is not used in what is shipped. A name that several things share may hide an unused one. Only what a macro
//! calls can be reported wrongly.

use std::collections::{BTreeMap, HashMap, HashSet};

use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Ident, Item, Visibility};

use super::source_file::SourceFile;

#[cfg(test)]
mod tests;

/// Public items of the shipped sources that neither a shipped source nor a chore names.
pub fn problems(files: &[SourceFile]) -> Vec<String> {
    let mut uses: HashMap<String, usize> = HashMap::new();
    let mut defined: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_shipped() || file.is_chore()) {
        let reexported = file.parsed().map(|parsed| reexported_lines(&parsed.items)).unwrap_or_default();
        let words = file.words().iter().filter(|word| !reexported.contains(&word.line));
        words.for_each(|word| *uses.entry(word.text.clone()).or_default() += 1);
        if file.is_chore() {
            continue;
        }
        let Ok(parsed) = file.parsed() else { continue };
        let mut items = PublicItems { path: &file.path, defined: &mut defined };
        items.visit_file(parsed);
    }
    let unused = defined.into_iter().filter(|(name, places)| uses.get(name).is_some_and(|uses| *uses <= places.len()));
    unused.flat_map(|(name, places)| places.into_iter().map(move |at| unused_problem(&name, &at))).collect()
}

/// Lines of `pub use`: naming something for others is not using it.
fn reexported_lines(items: &[Item]) -> HashSet<usize> {
    let public = items.iter().filter_map(|item| match item {
        Item::Use(item) if !matches!(item.vis, Visibility::Inherited) => Some(item.span()),
        _ => None,
    });
    public.flat_map(|span| span.start().line..=span.end().line).collect()
}

fn unused_problem(name: &str, at: &str) -> String {
    format!("{at}: only tests name `{name}`: remove it, or move it to the tests that use it")
}

struct PublicItems<'a> {
    path: &'a str,
    defined: &'a mut BTreeMap<String, Vec<String>>,
}

impl PublicItems<'_> {
    fn add(&mut self, attributes: &[Attribute], visibility: &Visibility, name: &Ident) {
        // What is built for tests only is not shipped.
        let is_for_tests = attributes.iter().any(|attribute| attribute.path().is_ident("cfg"));
        if !is_for_tests && !matches!(visibility, Visibility::Inherited) {
            let at = format!("{}:{}", self.path, name.span().start().line);
            self.defined.entry(name.to_string()).or_default().push(at);
        }
    }
}

impl<'ast> Visit<'ast> for PublicItems<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.attrs, &item.vis, &item.sig.ident);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.attrs, &item.vis, &item.sig.ident);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.add(&item.attrs, &item.vis, &item.ident);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.attrs, &item.vis, &item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.attrs, &item.vis, &item.ident);
    }
}
