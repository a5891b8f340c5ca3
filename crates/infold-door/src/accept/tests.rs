//! How long the accept loop rests after an error.

use super::*;

#[test]
fn peers_that_gave_up_cost_no_rest_and_other_errors_ever_more() {
    let gone = io::Error::from(ErrorKind::ConnectionAborted);
    assert_eq!(next_pause(&gone, Duration::from_secs(1)), Duration::ZERO);

    // Too many open files, by its number on Linux and macOS alike.
    let full = io::Error::from_raw_os_error(24);
    let mut pause = Duration::ZERO;
    let rests: Vec<u128> = (0..9)
        .map(|_| {
            pause = next_pause(&full, pause);
            pause.as_millis()
        })
        .collect();
    assert_eq!(rests, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
}
