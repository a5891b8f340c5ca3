//! Documents with tables that a chore makes, between marks that say which.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Writes each table between its marks in the document.
pub fn put(path: &Path, tables: &[(&str, &str)]) -> Result<()> {
    let mut text = fs::read_to_string(path).with_context(|| format!("{} is missing", path.display()))?;
    for (name, table) in tables {
        text = put_between(&text, name, table)?;
    }
    fs::write(path, text)?;
    Ok(())
}

fn put_between(text: &str, name: &str, table: &str) -> Result<String> {
    let (start, end) = (format!("<!-- {name}: made by `cargo xtask "), format!("<!-- end of {name} -->"));
    let Some((before, rest)) = text.split_once(&start) else { bail!("the mark {start:?} is missing") };
    let Some((chore, rest)) = rest.split_once('\n') else { bail!("the mark {start:?} has no end") };
    let Some((_, after)) = rest.split_once(&end) else { bail!("the mark {end:?} is missing") };
    Ok(format!("{before}{start}{chore}\n{}\n{end}{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::put_between;

    #[test]
    fn a_table_takes_the_place_between_its_marks() {
        let text = "before\n<!-- forks: made by `cargo xtask measure` -->\nold\n<!-- end of forks -->\nafter\n";
        assert_eq!(
            put_between(text, "forks", "| new |\n\n").unwrap(),
            "before\n<!-- forks: made by `cargo xtask measure` -->\n| new |\n<!-- end of forks -->\nafter\n"
        );
        assert!(put_between("no marks", "forks", "").is_err());
    }
}
