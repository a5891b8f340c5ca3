//! Makes languages ready in a thread of their own.
//!
//! What must hold: nobody waits. There is one thread at a time, and it is joined when the next line of code asks for its
//! language.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use syntect::parsing::{ParseState, SyntaxSet};

use super::load;

/// Lines that look like something in most languages: reading them compiles what is needed most.
const SAMPLE: &str = "// comment /* more */ # comment\n\
    import { a } from 'b';\n\
    pub fn name(first: &str, second: int = 1.5) -> Option<T> {\n\
    class Name(Other): def name(self, x=None): return \"text {x} \\n\"\n\
    const name = async (a: string) => { if (a == 1 && !b) { call(a.b[0], 0xff); } };\n\
    for i in $(ls \"$HOME\" | grep -v 'x'); do echo \"${i}\"; done\n\
    }\n";

/// Languages that are ready, or will be.
#[derive(Default)]
pub struct Background {
    grammars: Arc<OnceLock<SyntaxSet>>,
    languages: Mutex<Languages>,
}

#[derive(Default)]
struct Languages {
    ready: HashSet<String>,
    under_way: Option<(String, JoinHandle<()>)>,
}

impl Background {
    /// The grammars, if a language is ready. Begins to make it ready if nothing else is under way.
    pub fn grammars_for(&self, language: &str) -> Option<&SyntaxSet> {
        let mut languages = self.languages.lock().ok()?;
        if let Some((language, thread)) = languages.under_way.take_if(|(_, thread)| thread.is_finished()) {
            // A thread that panicked leaves its language plain.
            thread.join().ok()?;
            languages.ready.insert(language);
        }
        if languages.ready.contains(language) {
            return self.grammars.get();
        }
        if languages.under_way.is_none() {
            let (grammars, name) = (Arc::clone(&self.grammars), language.to_owned());
            let thread = std::thread::spawn(move || make_ready(grammars.get_or_init(load), &name));
            languages.under_way = Some((language.to_owned(), thread));
        }
        None
    }
}

fn make_ready(grammars: &SyntaxSet, language: &str) {
    let Some(syntax) = grammars.find_syntax_by_token(language) else { return };
    for line in SAMPLE.split_inclusive('\n') {
        // Each line from the start, so that none is inside of a comment or string of the one before. What cannot be read
        // here cannot be read later either, and is found out then.
        let _ = ParseState::new(syntax).parse_line(line, grammars);
    }
}
