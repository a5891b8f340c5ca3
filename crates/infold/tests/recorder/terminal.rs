//! `infold top` on a terminal: it leaves the terminal as it was, however it ends.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support::PATIENCE;

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

/// The program on a terminal of its own.
struct OnTerminal {
    child: Child,
    keys: File,
    seen: Receiver<Vec<u8>>,
    /// The program's side of the terminal, kept open so that its state can be read afterwards.
    side: OwnedFd,
    text: String,
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl OnTerminal {
    fn start(data: &Path, environment: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = name.to_str().unwrap();
        let side: OwnedFd = File::options().read(true).write(true).open(path).unwrap().into();
        tcsetwinsize(&side, Winsize { ws_row: 30, ws_col: 110, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let stdio = || Stdio::from(side.try_clone().unwrap());
        let child = program(&["top", "--every-ms", "100"], data)
            .env("TERM", "xterm-256color")
            .envs(environment.iter().copied())
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .unwrap();
        let mut screen = File::from(master.try_clone().unwrap());
        let (bytes, seen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                if bytes.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys: File::from(master), seen, side, text: String::new() }
    }

    /// Waits until the screen has shown these words.
    fn until(&mut self, wanted: &str) {
        let give_up = Instant::now() + PATIENCE;
        while !self.text.contains(wanted) {
            let left = give_up.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.seen.recv_timeout(left) else {
                panic!("no {wanted:?} in {:?}", self.text.chars().take(2_000).collect::<String>())
            };
            self.text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether the terminal reads whole lines and echoes them, as a shell needs it.
    fn is_ordinary(&self) -> bool {
        let modes = tcgetattr(&self.side).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits for the end; the terminal must be as it was.
    fn ended(mut self) -> String {
        self.until(LEAVE);
        self.until(SHOW_CURSOR);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        assert!(self.is_ordinary(), "the terminal was not put back");
        std::mem::take(&mut self.text)
    }
}

/// The program with a home of its own, and nothing of the person's environment.
fn program(arguments: &[&str], data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_infold"));
    command.args(arguments).arg("--data").arg(data).env_clear().env("HOME", data).env("LANG", "C.UTF-8");
    command
}

/// A data folder with a database in it, and the temporary folder that it lies in.
fn data() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let ended = program(&["mcp"], &data).stdin(Stdio::null()).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    (folder, data)
}

#[test]
fn q_ends_it_and_the_terminal_is_as_it_was() {
    let (_folder, data) = data();
    let mut top = OnTerminal::start(&data, &[]);
    top.until(ENTER);
    top.until("infold top");
    assert!(!top.is_ordinary(), "keys are read one by one");
    top.press("q");
    top.ended();
}

#[test]
fn signals_and_control_c_end_it_in_the_same_way() {
    let (_folder, data) = data();
    for signal in [Signal::TERM, Signal::INT] {
        let mut top = OnTerminal::start(&data, &[]);
        top.until("infold top");
        let pid = Pid::from_raw(i32::try_from(top.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        top.ended();
    }
    let mut top = OnTerminal::start(&data, &[]);
    top.until("infold top");
    top.press("\u{3}");
    top.ended();
}

#[test]
fn without_colour_there_is_none() {
    let (_folder, data) = data();
    let mut top = OnTerminal::start(&data, &[("NO_COLOR", "1")]);
    // Blanks are not drawn where there were blanks before, so a word is all that can be waited for.
    top.until("quits");
    top.press("q");
    let text = top.ended();
    let coloured = (30..=37).chain(90..=97).any(|code| text.contains(&format!("\u{1b}[{code}m")));
    assert!(!coloured && !text.contains("\u{1b}[38;") && !text.contains("\u{1b}[1m"));
}

#[test]
fn without_a_terminal_it_says_what_to_do_instead() {
    let (_folder, data) = data();
    let ended = program(&["top"], &data).stdin(Stdio::null()).output().unwrap();
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(3), b"".as_slice()));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("infold top --once"), "{said}");
}
