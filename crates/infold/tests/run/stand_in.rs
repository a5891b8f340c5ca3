//! A shell script that is run in place of an agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::cli::home::{Ended, Home};

/// A home with a stand-in for an agent.
pub struct StandIn {
    pub home: Home,
    agent: &'static str,
}

impl StandIn {
    /// A script that is found as `agent`.
    pub fn new(agent: &'static str, script: &str) -> Self {
        let home = Home::new();
        home.write(&format!("bin/{agent}"), &format!("#!/bin/sh\n{script}\n"));
        let path = home.join(&format!("bin/{agent}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { home, agent }
    }

    /// `infold FLAGS run AGENT ARGUMENTS`, ready to be started.
    pub fn command(&self, flags: &[&str], arguments: &[&str]) -> Command {
        self.started(&[flags, &["run", self.agent], arguments].concat())
    }

    /// `infold FLAGS run --gateway AGENT ARGUMENTS`, ready to be started.
    pub fn gateway_command(&self, flags: &[&str], arguments: &[&str]) -> Command {
        self.started(&[flags, &["run", "--gateway", self.agent], arguments].concat())
    }

    fn started(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(arguments);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.home.join("bin").display()));
        command
    }

    pub fn run(&self, flags: &[&str], arguments: &[&str]) -> Ended {
        self.home.ended(self.command(flags, arguments).output().unwrap())
    }
}
