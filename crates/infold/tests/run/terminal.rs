//! The agent at a terminal: keys are for it, and reach it once.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::run::stand_in::StandIn;

/// A script that counts how often it is interrupted, until a line is typed.
const COUNTS: &str = "n=0; trap 'n=$((n+1)); echo interrupted $n' INT\n\
    echo ready; while ! read line; do :; done; echo \"ended after $n\"; exit 5";

/// A terminal, from the keyboard's side.
struct Terminal {
    keyboard: File,
    path: String,
    seen: String,
}

impl Terminal {
    fn new() -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let path = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        Self { keyboard: keyboard.into(), path, seen: String::new() }
    }

    fn side(&self) -> Stdio {
        File::options().read(true).write(true).open(&self.path).unwrap().into()
    }

    fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
    }

    /// Reads until this was shown.
    fn until(&mut self, wanted: &str) {
        let mut bytes = [0; 1024];
        while !self.seen.contains(wanted) {
            let count = self.keyboard.read(&mut bytes).unwrap_or(0);
            assert!(count > 0, "no {wanted:?} in {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }
}

#[test]
fn an_interrupt_at_the_terminal_reaches_the_agent_once_and_infold_goes_on() {
    let agent = StandIn::new("claude", COUNTS);
    let mut terminal = Terminal::new();
    let plain = agent.command(&[], &[]);
    // A terminal sends keys to the session that it controls, so there has to be one.
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait"]).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(plain.get_current_dir().unwrap());
    let mut child = command.stdin(terminal.side()).stdout(terminal.side()).stderr(terminal.side()).spawn().unwrap();
    drop(command);

    terminal.until("ready");
    terminal.press(b"\x03");
    terminal.until("interrupted 1");
    terminal.press(b"end\n");
    terminal.until("ended after 1");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}
