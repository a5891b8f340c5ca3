//! The terminal while a chat has it: raw keys, pastes in one piece. It is as it was before when this is dropped, and when the
//! program panics.

use std::io::stdout;

use anyhow::Context;
use crossterm::ExecutableCommand;
use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

/// The terminal, taken.
pub struct TakenTerminal;

impl TakenTerminal {
    /// Takes it.
    pub fn take() -> anyhow::Result<Self> {
        enable_raw_mode().context("cannot read keys from the terminal")?;
        let taken = Self;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            drop(stdout().execute(LeaveAlternateScreen));
            put_back();
            before(panic);
        }));
        stdout().execute(EnableBracketedPaste)?;
        // Terminals that do not know this leave it alone; others tell Shift-Enter from Enter.
        stdout().execute(PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES))?;
        Ok(taken)
    }
}

impl Drop for TakenTerminal {
    fn drop(&mut self) {
        put_back();
    }
}

fn put_back() {
    // If one of these fails, the terminal is gone, and the others fail as well.
    drop(stdout().execute(PopKeyboardEnhancementFlags));
    drop(stdout().execute(DisableBracketedPaste));
    drop(disable_raw_mode());
}
