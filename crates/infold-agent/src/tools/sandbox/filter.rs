//! A filter of system calls: what no build or test needs, and what would lead around the rules for files, is refused.
//!
//! The filter lists what is refused, not what is allowed: commands are anybody's programs, and a call that is not known here
//! must not break them.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::{ConfineError, NetworkAccess};

/// Calls that are refused with whatever they get: they look into other processes, change what is mounted, load code into
/// the kernel, open files around the rules for them, change the machine's clock or name, or do any of it unseen.
const REFUSED: [i64; 41] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
];
/// Puts characters into a terminal's input, as if its user had typed them.
const TYPE_INTO_TERMINAL: u64 = 0x5412;
/// The same by way of the console's clipboard.
const PASTE_INTO_CONSOLE: u64 = 0x541c;
/// Sockets that stay on this machine: between processes, and to the kernel's own tables.
const LOCAL_SOCKETS: [u64; 2] = [libc::AF_UNIX as u64, libc::AF_NETLINK as u64];
/// On this processor each call has a second number, which is this much higher.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBER: i64 = 0x4000_0000;
/// Calls that have a second number of their own: all of them are refused.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBERS: std::ops::RangeInclusive<i64> = 512..=547;

/// The rules of a filter: for each call, when it is refused. None means always.
type FilterRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Puts the filter in force for this thread, and says whether it is: not every processor is known.
pub(super) fn apply(network: NetworkAccess) -> Result<bool, ConfineError> {
    let failed = |error: seccompiler::Error| ConfineError::Kernel(error.to_string());
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    // What makes a thread in the newer way cannot be looked into. Programs that do not find it use the older one.
    let newer = FilterRules::from([(libc::SYS_clone3, Vec::new())]);
    for (rules, answer) in [(newer, libc::ENOSYS), (refused(network).map_err(failed)?, libc::EPERM)] {
        let program = program(with_second_numbers(rules), answer.cast_unsigned(), arch).map_err(failed)?;
        match seccompiler::apply_filter(&program) {
            Ok(()) => {}
            // A kernel that was built without filters.
            Err(seccompiler::Error::Seccomp(error)) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(true)
}

fn program(rules: FilterRules, answer: u32, arch: TargetArch) -> Result<BpfProgram, seccompiler::Error> {
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(answer), arch)?;
    Ok(BpfProgram::try_from(filter)?)
}

fn refused(network: NetworkAccess) -> Result<FilterRules, seccompiler::Error> {
    let mut rules: FilterRules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // A user's own name space brings rights that the user does not have.
    let own_users = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        rules.insert(call, vec![rule(&[(0, SeccompCmpOp::MaskedEq(own_users), own_users)])?]);
    }
    let terminal = [TYPE_INTO_TERMINAL, PASTE_INTO_CONSOLE].map(|what| rule(&[(1, SeccompCmpOp::Eq, what)]));
    rules.insert(libc::SYS_ioctl, terminal.into_iter().collect::<Result<_, _>>()?);
    if network == NetworkAccess::Closed {
        let others: Vec<_> = LOCAL_SOCKETS.iter().map(|kind| (0, SeccompCmpOp::Ne, *kind)).collect();
        rules.insert(libc::SYS_socket, vec![rule(&others)?]);
    }
    Ok(rules)
}

/// A rule that applies if all of its conditions on a call's arguments do.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::Error> {
    let conditions = conditions.iter().map(|(argument, compare, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, compare.clone(), *value)
    });
    Ok(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?)
}

/// The same rules for the second numbers of the calls.
#[cfg(target_arch = "x86_64")]
fn with_second_numbers(mut rules: FilterRules) -> FilterRules {
    let second: FilterRules = rules.iter().map(|(call, when)| (call + SECOND_NUMBER, when.clone())).collect();
    rules.extend(second);
    rules.extend(SECOND_NUMBERS.map(|call| (call + SECOND_NUMBER, Vec::new())));
    rules
}

#[cfg(not(target_arch = "x86_64"))]
fn with_second_numbers(rules: FilterRules) -> FilterRules {
    rules
}
