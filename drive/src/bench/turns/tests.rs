//! The median ratio counts.

use std::process::ExitCode;

use super::{Both, Ratios, Table};

fn verdict(pairs: &[(f64, f64)]) -> String {
    let mut ratios = Ratios::default();
    pairs.iter().for_each(|(old, new)| ratios.add("time", Both { old: *old, new: *new }));
    let mut table = Table::default();
    ratios.hold(&mut table);
    format!("{:?}", table.finish())
}

#[test]
fn one_bad_pair_is_forgiven_and_a_bad_middle_is_not() {
    let (good, bad) = (format!("{:?}", ExitCode::SUCCESS), format!("{:?}", ExitCode::FAILURE));
    assert_eq!(verdict(&[(10.0, 10.0), (10.0, 20.0), (10.0, 10.4)]), good);
    assert_eq!(verdict(&[(10.0, 10.6), (10.0, 20.0), (10.0, 10.0)]), bad);
    assert_eq!(verdict(&[(10.0, 10.0), (10.0, 11.2)]), bad, "of two the mean counts");
    assert_eq!(verdict(&[(0.0, 0.0)]), bad, "nothing was measured");
}
