//! Programs that leave files alone whatever their arguments, and those that do so unless an argument says otherwise.
//! All others count as programs that may write.

/// Programs that only read and print.
const READERS: &str = "[ [[ : ack ag basename break cat cd cmp comm column continue cut date df diff dirname du echo \
    egrep exit expr false fd fgrep file fold grep head hexdump less ls more nl od paste popd printenv printf pushd pwd \
    return rev rg seq set sleep stat strings tac tail test tr true type unset wait wc which whoami zgrep";

/// Subcommands of `git` that change nothing.
const GIT_READERS: &str = "blame check-ignore diff grep log ls-files rev-parse show status";

/// Whether a program with these arguments writes no files.
pub(super) fn leaves_files_alone(program: &str, arguments: &[String]) -> bool {
    let has = |part: &str| arguments.iter().any(|argument| argument.contains(part));
    let starts = |part: &str| arguments.iter().any(|argument| argument.starts_with(part));
    match program {
        "sed" | "yq" => !starts("--in-place") && !arguments.iter().any(|argument| has_flag(argument, 'i')),
        "sort" => !starts("-o") && !starts("--output"),
        "uniq" | "jq" => true,
        "awk" | "gawk" | "mawk" => !has(">") && !has("inplace") && !has("system") && !has("|"),
        "find" => !["-exec", "-ok", "-delete", "-fprint", "-fls"].iter().any(|action| starts(action)),
        "git" => arguments.first().is_some_and(|word| is_among(GIT_READERS, word)) && !starts("--output"),
        _ => is_among(READERS, program),
    }
}

fn is_among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// Whether this argument is a group of short flags, such as `-Ei`, with `flag` among them.
fn has_flag(argument: &str, flag: char) -> bool {
    let flags = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    flags.is_some_and(|flags| flags.chars().take_while(char::is_ascii_alphabetic).any(|c| c == flag))
}
