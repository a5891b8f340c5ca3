//! Names of processes that run and of others.

use super::{lives, own_name};

#[test]
fn a_process_lives_until_it_is_gone_or_its_number_is_somebody_elses() {
    let own = own_name().unwrap();
    assert!(lives(&own));
    let number = own.split(':').next().unwrap();
    assert!(!lives(&format!("{number}:1")));
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    assert!(!lives(&format!("{}:7", child.id())));
    assert!(lives("no name"));
}
