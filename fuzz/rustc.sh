#!/bin/sh
# The compiler for fuzzing: our own crates say which code an input reached. What others wrote is built without, as it is
# for tests, so that it need not be built again. Optimising all would make the build four times as long; the laws and the
# settings are small, and the core is where the scrubber spends its time.
case "$*" in
*"--crate-name fuzz "* | *"--crate-name infold_core "*) set -- "$@" -Copt-level=1 ;;
esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
