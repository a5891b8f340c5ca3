//! What one run of an agent has shown: several findings, each with a name, so that a run that costs seconds
//! is made once.

use anyhow::{Error, Result, anyhow};
use infold_testkit::model::Received;

/// The findings of a run, in the order in which they were made.
#[derive(Debug, Default)]
pub struct RunFindings {
    found: Vec<(String, Result<()>)>,
}

impl RunFindings {
    /// Adds a finding: a name, and whether it holds.
    pub fn add(&mut self, name: &str, outcome: Result<()>) {
        self.found.push((name.to_owned(), outcome));
    }

    /// Adds the finding that a request is there, holds all of the texts in `holds` and none of those in `lacks`.
    pub fn request(&mut self, name: &str, request: Option<&Received>, holds: &[&str], lacks: &[&str]) {
        self.add(name, judged(request, holds, lacks));
    }

    pub fn into_list(self) -> Vec<(String, Result<()>)> {
        self.found
    }
}

fn judged(request: Option<&Received>, holds: &[&str], lacks: &[&str]) -> Result<(), Error> {
    let request = request.ok_or_else(|| anyhow!("no such request was sent"))?;
    let missing = holds.iter().find(|text| !request.holds(text));
    let unwanted = lacks.iter().find(|text| request.holds(text));
    match (missing, unwanted) {
        (None, None) => Ok(()),
        (Some(text), _) => Err(anyhow!("not sent: {text:?}\n{}", request.shape())),
        (None, Some(text)) => Err(anyhow!("sent, and should not be: {text:?}\n{}", request.shape())),
    }
}
