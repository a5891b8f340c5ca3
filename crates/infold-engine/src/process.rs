//! Names of processes that no other process has had since the machine was started: the number, and when it began. The number
//! alone is given away again.

/// The name of this process; `None` where the system does not say when it began.
pub(crate) fn own_name() -> Option<String> {
    name_of(std::process::id())
}

/// Whether the process of this name still runs. Where that cannot be known, it is taken for alive.
pub(crate) fn lives(name: &str) -> bool {
    let Some(number) = name.split(':').next().and_then(|number| number.parse().ok()) else { return true };
    match (name_of(number), own_name()) {
        (Some(now), _) => now == name,
        // The system says of this process when it began, so it would say so of the other one.
        (None, own) => own.is_none(),
    }
}

fn name_of(number: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The program's name is in brackets, and may have spaces and brackets itself. Behind it the time is the 20th field.
    let began = stat.rsplit(')').next()?.split_whitespace().nth(19)?;
    Some(format!("{number}:{began}"))
}

#[cfg(test)]
mod tests;
