//! Programs whose start changes the process's privileges: the loader would not load the agent into them (ld.so(8),
//! "secure-execution mode").

#![allow(unsafe_code, reason = "a capability is set by setxattr(2)")]

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use crate::support::{Run, overstep, run, skip};

/// Root gains nothing from a file of root's: it has to be another's.
const ANOTHER: u32 = 12_345;

/// A program that `prepare` gives privileges, in a directory that everyone may read.
fn privileged(test: &str, prepare: impl FnOnce(&Path) -> bool) -> Option<(tempfile::TempDir, PathBuf)> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("its mode is set");
    let path = directory.path().join("privileged");
    fs::copy("/bin/true", &path).expect("the program is copied");
    if prepare(&path) { Some((directory, path)) } else { skip(test, "only root can give a file privileges") }
}

fn has_mode_of_another(path: &Path, mode: u32) -> bool {
    chown(path, Some(ANOTHER), Some(ANOTHER)).is_ok()
        && fs::set_permissions(path, fs::Permissions::from_mode(mode)).is_ok()
}

fn is_refused(test: &str, refused: &Run, reason: &str) {
    if refused.status == Some(0) {
        return skip(test, "the file system is mounted nosuid").unwrap_or_default();
    }
    assert_eq!(refused.status, Some(125), "{refused:?}");
    assert!(refused.stderr.contains(reason), "{refused:?}");
}

#[test]
fn set_user_id_and_set_group_id_programs_are_refused() {
    let test = "set_user_id_and_set_group_id_programs_are_refused";
    for (mode, reason) in [(0o4755, "set-user-id"), (0o2755, "set-group-id")] {
        let prepared = privileged(test, |path| has_mode_of_another(path, mode));
        let Some((_directory, path)) = prepared else { return };
        let refused = run(overstep().args(["trace", "-f", "main", "--"]).arg(&path));
        is_refused(test, &refused, reason);
    }
}

#[test]
fn a_program_with_file_capabilities_is_refused_to_a_plain_user() {
    let test = "a_program_with_file_capabilities_is_refused_to_a_plain_user";
    let Some((_directory, path)) = privileged(test, may_bind_low_ports) else { return };
    // The executable may lie where the other user cannot look.
    let own = path.with_file_name("overstep");
    fs::copy(env!("CARGO_BIN_EXE_overstep"), &own).expect("the executable is copied");
    let mut command = std::process::Command::new(&own);
    command.args(["trace", "-f", "main", "--"]).arg(&path).current_dir("/").uid(ANOTHER).gid(ANOTHER);
    is_refused(test, &run(&mut command), "file capabilities");
}

/// cap_net_bind_service, permitted and effective (`struct vfs_cap_data`, `include/uapi/linux/capability.h`).
fn may_bind_low_ports(path: &Path) -> bool {
    const REVISION_2_EFFECTIVE: u32 = 0x0200_0001;
    const NET_BIND_SERVICE: u32 = 1 << 10;
    let words = [REVISION_2_EFFECTIVE, NET_BIND_SERVICE, 0, 0, 0];
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = CString::new(path.as_os_str().as_bytes()).expect("no zero in the path");
    let name = c"security.capability";
    // SAFETY: both names end in zero, and the value is `value.len()` bytes long.
    unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) == 0 }
}
