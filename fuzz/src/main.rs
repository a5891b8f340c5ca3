//! Hands libFuzzer's inputs to the target that `INFOLD_FUZZ` names. `cargo xtask fuzz` builds and runs it.
#![no_main]

use std::sync::LazyLock;

use fuzz::FuzzTarget;

static TARGET: LazyLock<FuzzTarget> = LazyLock::new(FuzzTarget::of_environment);

libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGET.check(input));
