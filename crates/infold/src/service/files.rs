//! The texts of a service's files: systemd's units, launchd's property list.

use super::{SOCKET, ServedDaemon};

/// The words in a file by which infold recognises it as its own, so that it may remove it.
const MARK: &str = "Written by `infold connect`; `infold disconnect` removes it.";

/// Whether infold wrote a file with this text.
pub fn is_ours(text: &str) -> bool {
    text.contains(MARK)
}

/// systemd's unit that holds the port.
pub fn socket(daemon: &ServedDaemon) -> String {
    format!(
        "# {MARK}\n[Unit]\nDescription=infold: the first request to this port starts the daemon\n\n\
         [Socket]\nListenStream={}\n\n[Install]\nWantedBy=sockets.target\n",
        daemon.address
    )
}

/// systemd's unit that runs the daemon.
pub fn service(daemon: &ServedDaemon) -> String {
    let program = daemon.program.to_string_lossy().into_owned();
    let words = [program].iter().chain(&daemon.arguments).map(|word| unit_word(word)).collect::<Vec<_>>().join(" ");
    format!(
        "# {MARK}\n[Unit]\nDescription=infold: daemon for connected agents\nRequires={SOCKET}\nAfter={SOCKET}\n\n\
         [Service]\nExecStart={words}\nRestart=on-failure\n\n[Install]\nAlso={SOCKET}\n"
    )
}

/// Quotes a word of a command line for a unit, in which percent signs, dollars, quotes and backslashes are special.
fn unit_word(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

/// launchd's property list that keeps the daemon running.
pub fn launch_agent(label: &str, daemon: &ServedDaemon) -> String {
    let program = daemon.program.to_string_lossy().into_owned();
    let words = [program];
    let words = words.iter().chain(&daemon.arguments);
    let words: String = words.map(|word| format!("    <string>{}</string>\n", xml_text(word))).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {MARK} -->\n<plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{label}</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n  <key>RunAtLoad</key>\n  <true/>\n  \
         <key>KeepAlive</key>\n  <true/>\n</dict>\n</plist>\n"
    )
}

fn xml_text(word: &str) -> String {
    word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
