//! Root's rights: a command that root runs does not get those that would lead around the sandbox. Whoever is not root has
//! none of them, and can get none: the kernel does not give new rights to a confined process.

use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// Rights over other processes, the kernel, devices and the network's own settings.
const GIVEN_UP: [CapabilitySet; 16] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    // With it, the environment of every process can be read.
    CapabilitySet::PERFMON,
    CapabilitySet::BPF,
    CapabilitySet::CHECKPOINT_RESTORE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::SYS_TIME,
    CapabilitySet::SYSLOG,
    CapabilitySet::MKNOD,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::LINUX_IMMUTABLE,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_RAW,
    CapabilitySet::SETFCAP,
];

/// Gives the rights up. It takes effect when this thread becomes the command.
pub(super) fn give_up() {
    for right in GIVEN_UP {
        // Only root may give them up, and only root has them. An older kernel does not know them all.
        let _ = remove_capability_from_bounding_set(right);
    }
}
