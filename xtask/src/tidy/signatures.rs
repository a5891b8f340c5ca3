//! What a function asks of its caller: at most five parameters, and no `bool`, which says nothing at the call.
//!
//! Implementations of other people's traits are left out: their parameters are not ours to choose.

use syn::visit::Visit;
use syn::{FnArg, Signature, Type};

use super::source_file::SourceFile;

#[cfg(test)]
mod tests;

/// More than this many parameters want a struct.
const PARAMETERS_MAX: usize = 5;

/// Functions of one file that ask too much of their callers.
pub fn problems(file: &SourceFile) -> Vec<String> {
    let Ok(parsed) = file.parsed() else { return Vec::new() };
    let mut signatures = Signatures { path: &file.path, problems: Vec::new() };
    signatures.visit_file(parsed);
    signatures.problems
}

struct Signatures<'a> {
    path: &'a str,
    problems: Vec<String>,
}

impl Signatures<'_> {
    fn check(&mut self, signature: &Signature) {
        let name = &signature.ident;
        let at = format!("{}:{}", self.path, name.span().start().line);
        let typed = signature.inputs.iter().filter_map(|argument| match argument {
            FnArg::Receiver(_) => None,
            FnArg::Typed(typed) => Some(&*typed.ty),
        });
        let types: Vec<&Type> = typed.collect();
        if types.len() > PARAMETERS_MAX {
            let count = types.len();
            self.problems
                .push(format!("{at}: `{name}` takes {count} parameters: more than {PARAMETERS_MAX} want a struct"));
        }
        if types.iter().any(|kind| is_bool(kind)) {
            self.problems
                .push(format!("{at}: `{name}` takes a `bool`, which says nothing where it is called: use an enum"));
        }
    }
}

fn is_bool(kind: &Type) -> bool {
    matches!(kind, Type::Path(path) if path.path.is_ident("bool"))
}

impl<'ast> Visit<'ast> for Signatures<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.check(&function.sig);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, implementation: &'ast syn::ItemImpl) {
        if implementation.trait_.is_none() {
            syn::visit::visit_item_impl(self, implementation);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check(&function.sig);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.check(&function.sig);
        syn::visit::visit_trait_item_fn(self, function);
    }
}
