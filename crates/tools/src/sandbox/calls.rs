//! Decides which system calls a program may not make, and has the kernel's seccomp hold it to that.
//! Called in the process that becomes the program. Forbids ways out of the confinement and ways into other processes; a
//! forbidden call fails with "not permitted", so that programs can tell and go on.

use std::collections::BTreeMap;

use libc::{c_long, *};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::Network;

type Error = Box<dyn std::error::Error>;
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

/// Never, whatever the arguments.
const FORBIDDEN: &[c_long] = &[
    // Other processes' memory, files and events.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_kcmp,
    SYS_pidfd_getfd,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fanotify_init,
    // Calls made for a program by the kernel, which no filter sees.
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_bpf,
    // Keys kept by the kernel.
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    // Other views of the file system.
    SYS_mount,
    SYS_umount2,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_quotactl,
    // The system itself.
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_vhangup,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    SYS__sysctl,
];

/// Without network. A pair of sockets stays possible: its ends know only each other.
const SOCKETS: &[c_long] =
    &[SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4];

/// With network. Others reach past the network: raw packets, the machine's host, the kernel's own services.
const FAMILIES: [c_int; 4] = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK];

const NAMESPACES: [c_int; 7] = [
    CLONE_NEWNS,
    CLONE_NEWCGROUP,
    CLONE_NEWUTS,
    CLONE_NEWIPC,
    CLONE_NEWUSER,
    CLONE_NEWPID,
    CLONE_NEWNET,
];

/// Typing for a terminal's user, and selecting and pasting for that of a console.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// The other interface of the same processor, with numbers of its own for some calls.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

pub fn enter(network: Network) -> Result<(), String> {
    install(network).map_err(|error| error.to_string())
}

/// Says whether the kernel takes filters, on a thread that ends afterwards.
pub fn probe() -> Result<(), String> {
    enter(Network::Denied)
}

fn install(network: Network) -> Result<(), Error> {
    apply_filter(&program(forbidden(network)?, EPERM)?)?;
    // Its flags are in memory, where no filter can look. Told that it does not exist, libraries use the older one.
    apply_filter(&program(Rules::from([(SYS_clone3, Vec::new())]), ENOSYS)?)?;
    Ok(())
}

fn program(rules: Rules, error: c_int) -> Result<BpfProgram, Error> {
    let rules = with_other_numbers(rules);
    let action = SeccompAction::Errno(error.unsigned_abs());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, action, ARCHITECTURE)?.try_into()?)
}

fn forbidden(network: Network) -> Result<Rules, Error> {
    let mut rules: Rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let namespaces: Result<Vec<_>, _> =
        NAMESPACES.iter().map(|flag| rule(&[has(0, *flag)])).collect();
    rules.insert(SYS_clone, namespaces?);
    let typing: Result<Vec<_>, _> =
        TERMINAL_INPUT.iter().map(|request| rule(&[(1, Is::Eq, *request)])).collect();
    rules.insert(SYS_ioctl, typing?);
    // Asking for the current one and choosing the usual one change nothing.
    let unusual = rule(&[(0, Is::Ne, 0), (0, Is::Ne, 0xffff_ffff)])?;
    rules.insert(SYS_personality, vec![unusual]);
    match network {
        Network::Denied => {
            rules.extend(SOCKETS.iter().map(|call| (*call, Vec::new())));
            // One that keeps messages apart can be turned to somebody else.
            rules.insert(SYS_socketpair, vec![rule(&[(1, Is::MaskedEq(0xf), 2)])?]);
        }
        Network::Allowed => {
            let others: Vec<_> = FAMILIES
                .iter()
                .map(|family| (0, Is::Ne, u64::from(family.unsigned_abs())))
                .collect();
            rules.insert(SYS_socket, vec![rule(&others)?]);
        }
    }
    Ok(rules)
}

type Condition = (u8, Is, u64);

fn has(argument: u8, flag: c_int) -> Condition {
    let flag = u64::from(flag.cast_unsigned());
    (argument, Is::MaskedEq(flag), flag)
}

/// Matches when all conditions do. Only lower halves are compared: the kernel takes no more of these arguments.
fn rule(conditions: &[Condition]) -> Result<SeccompRule, Error> {
    let conditions: Result<Vec<_>, _> = conditions
        .iter()
        .map(|(argument, is, value)| {
            SeccompCondition::new(*argument, Length::Dword, is.clone(), *value)
        })
        .collect();
    Ok(SeccompRule::new(conditions?)?)
}

/// The same rules for the same calls under their other numbers.
#[cfg(target_arch = "x86_64")]
fn with_other_numbers(rules: Rules) -> Rules {
    let own_numbers: BTreeMap<i64, i64> = [
        (SYS_ioctl, 514),
        (SYS_ptrace, 521),
        (SYS_kexec_load, 528),
        (SYS_process_vm_readv, 539),
        (SYS_process_vm_writev, 540),
    ]
    .into();
    let mut all = rules.clone();
    for (call, rule) in rules {
        if let Some(own) = own_numbers.get(&call) {
            all.insert(X32 | own, rule.clone());
        }
        all.insert(X32 | call, rule);
    }
    all
}

#[cfg(not(target_arch = "x86_64"))]
fn with_other_numbers(rules: Rules) -> Rules {
    rules
}
