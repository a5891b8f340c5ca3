//! Code in, tones out.

use std::sync::LazyLock;

use super::Highlighter;
use crate::tones::Tone;

/// Loading takes long without optimisation, so all tests share one.
static LOADED: LazyLock<Highlighter> = LazyLock::new(Highlighter::loaded);

/// Each line with the tone in front of every piece that is not plain.
fn shown(language: &str, code: &str) -> String {
    let mut block = LOADED.begin(language);
    let lines = code.lines().map(|line| {
        let pieces = block.line(line);
        assert_eq!(pieces.iter().map(|(_, text)| &**text).collect::<String>(), line);
        let pieces = pieces.iter().map(|(tone, text)| match tone {
            Tone::Plain => text.clone(),
            tone => format!("{tone:?}<{text}>"),
        });
        pieces.collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn words_of_languages_have_tones() {
    insta::assert_snapshot!(shown("rust", "/* a\n b */ fn main() {\n    let x = \"a\\n\"; // 1\n    call(1);\n}"), @r#"
    Comment</* a>
    Comment< b */> Keyword<fn> Name<main>() {
        Keyword<let> x = Text<"a\n">; Comment<// 1>
        Name<call>(Number<1>);
    }
    "#);
    insta::assert_snapshot!(shown("py", "def f(x):\n    return None # c"), @"
    Keyword<def> Name<f>(x):
        Keyword<return> Number<None> Comment<# c>
    ");
    insta::assert_snapshot!(shown("ts", "const a: string = 'b';"), @"Keyword<const> a: Name<string> = Text<'b'>;");
    insta::assert_snapshot!(shown("toml", "[a]\nkey = \"b\" # c"), @r#"
    [Name<a>]
    Name<key> = Text<"b"> Comment<# c>
    "#);
    insta::assert_snapshot!(shown("diff", "-old\n+new"), @"
    Removed<-old>
    Added<+new>
    ");
    insta::assert_snapshot!(shown("console", "if true; then echo 'x'; fi"), @"Keyword<if> Name<true>; Keyword<then> Name<echo> Text<'x'>; Keyword<fi>");
}

#[test]
fn code_of_unknown_languages_and_very_long_lines_are_plain() {
    assert_eq!(shown("", "fn main() {}"), "fn main() {}");
    assert_eq!(shown("no-such", "fn main() {}"), "fn main() {}");
    let long = format!("\"{}\"", "a".repeat(2_000));
    assert_eq!(shown("rust", &long), long);
    let mut block = LOADED.begin("json");
    let lines: Vec<_> = (0..2_001).map(|_| block.line("1")).collect();
    assert_eq!((lines[1_999][0].0, lines[2_000][0].0), (Tone::Number, Tone::Plain));
}

#[test]
fn common_languages_are_known() {
    let names = "rust rs python py typescript ts tsx javascript js jsx json jsonc toml yaml yml bash sh zsh go golang \
        java kotlin swift c cpp c++ cs csharp ruby rb php lua sql html css scss xml markdown md dockerfile makefile \
        cmake diff patch elixir haskell scala r perl dart zig nix proto graphql vue svelte ini";
    let grammars = LOADED.grammars_for("").unwrap();
    let is_unknown = |name: &&str| grammars.find_syntax_by_token(&LOADED.begin(name).language).is_none();
    assert_eq!(names.split_whitespace().filter(is_unknown).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn without_grammars_code_is_plain_and_in_the_background_they_come() {
    assert_eq!(Highlighter::none().begin("rust").line("fn"), [(Tone::Plain, "fn".to_owned())]);
    let highlighter = Highlighter::in_background();
    let mut block = highlighter.begin("rust");
    assert_eq!(block.line("fn"), [(Tone::Plain, "fn".to_owned())]);
    while highlighter.grammars_for("rust").is_none() {
        std::thread::yield_now();
    }
    assert_eq!(block.line("fn"), [(Tone::Keyword, "fn".to_owned())]);
}
