//! A text file of the repository. A Rust file is parsed once, for all checks.
//!
//! Words are tokens, so comments and strings are not among them: text is not code.

use std::cell::OnceCell;

use proc_macro2::{TokenStream, TokenTree};

/// Sources that only tests build.
const NOT_SHIPPED: [&str; 2] = ["crates/infold-testkit/", "crates/infold-mcp/src/fixtures"];

/// A text file of the repository.
pub struct SourceFile {
    /// Its path from the root, with forward slashes.
    pub path: String,
    /// What it says.
    pub text: String,
    parsed: OnceCell<Result<syn::File, syn::Error>>,
    words: OnceCell<Vec<Word>>,
}

/// A word or sign of a Rust file.
#[derive(Debug)]
pub struct Word {
    /// The word; an opening bracket of any kind is `(`, a closing one `)`.
    pub text: String,
    /// The line that it is on.
    pub line: usize,
}

impl SourceFile {
    /// A file that is not parsed yet.
    pub fn new(path: String, text: String) -> Self {
        Self { path, text, parsed: OnceCell::new(), words: OnceCell::new() }
    }

    /// The file as Rust.
    pub fn parsed(&self) -> Result<&syn::File, &syn::Error> {
        self.parsed.get_or_init(|| syn::parse_file(&self.text)).as_ref()
    }

    /// All words and signs in order, groups opened up.
    pub fn words(&self) -> &[Word] {
        self.words.get_or_init(|| words(self.text.parse().unwrap_or_default()))
    }

    /// Whether it is in the program that people get: a source of one of our crates, but no test and nothing that only
    /// tests build.
    pub fn is_shipped(&self) -> bool {
        let is_source = self.path.starts_with("crates/") && self.path.contains("/src/") && self.is_code();
        is_source && !NOT_SHIPPED.iter().any(|part| self.path.starts_with(part))
    }

    /// Whether it is a chore of this repository.
    pub fn is_chore(&self) -> bool {
        ["xtask/src/", "drive/src/", "fuzz/src/"].iter().any(|part| self.path.starts_with(part)) && self.is_code()
    }

    /// Whether it is Rust, and no test.
    pub fn is_code(&self) -> bool {
        let is_test = ["/tests/", "/tests.rs", "/testing.rs"].iter().any(|part| self.path.contains(part));
        self.path.ends_with(".rs") && !is_test
    }

    /// Lines with code on them: no comments, no blank ones.
    pub fn code_lines(&self) -> usize {
        let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        self.text.lines().filter(code).count()
    }
}

fn words(stream: TokenStream) -> Vec<Word> {
    let mut words = Vec::new();
    for token in stream {
        let line = token.span().start().line;
        match token {
            TokenTree::Group(group) => {
                words.push(Word { text: "(".to_owned(), line });
                words.extend(self::words(group.stream()));
                words.push(Word { text: ")".to_owned(), line });
            }
            TokenTree::Ident(ident) => words.push(Word { text: ident.to_string(), line }),
            TokenTree::Punct(punct) => words.push(Word { text: punct.as_char().to_string(), line }),
            TokenTree::Literal(_) => {}
        }
    }
    words
}
