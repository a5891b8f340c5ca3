//! The image on the clipboard, which a terminal does not hand over: the programs that can are asked.
//!
//! What must hold: they are started by name and never by a shell; what they print, and how long they take, has a bound.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

/// How long all of them may take together.
const CLIPBOARD_MS_MAX: u64 = 3_000;
/// The programs: for Wayland, X11 and macOS.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("wl-paste", &["--no-newline", "--type", "image/png"]),
    ("xclip", &["-selection", "clipboard", "-t", "image/png", "-o"]),
    ("pngpaste", &["-"]),
];

/// Reads it. An error says what to do.
pub async fn image_on_clipboard(bytes_max: u64) -> Result<Vec<u8>, String> {
    let asked = async {
        let mut is_one_there = false;
        for (program, arguments) in PROGRAMS {
            match ask(program, arguments, bytes_max).await {
                Ok(bytes) if !bytes.is_empty() => return Ok(bytes),
                Ok(_) => is_one_there = true,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{program} cannot be run: {error}")),
            }
        }
        match is_one_there {
            true => Err("there is no image on the clipboard".to_owned()),
            false => Err("images on the clipboard need a program: install wl-clipboard (Wayland), xclip (X11) or \
                          pngpaste (macOS), or drop a file"
                .to_owned()),
        }
    };
    let late = || Err("the clipboard does not answer".to_owned());
    tokio::time::timeout(Duration::from_millis(CLIPBOARD_MS_MAX), asked).await.unwrap_or_else(|_| late())
}

/// What a program prints; nothing if it fails.
async fn ask(program: &str, arguments: &[&str], bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut bytes = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 > bytes_max {
        // It has more to say than can be sent, and would wait for a reader.
        child.start_kill()?;
        child.wait().await?;
        return Ok(bytes);
    }
    let ended = child.wait().await?;
    Ok(if ended.success() { bytes } else { Vec::new() })
}
