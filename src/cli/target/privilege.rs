//! Whether running a file changes the process's privileges: then the loader ignores LD_PRELOAD (ld.so(8),
//! "secure-execution mode") and the agent would not be loaded.

#![allow(unsafe_code, reason = "getxattr and prctl are libc calls")]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getegid, geteuid, getuid};

/// What running the file would give the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    Nothing,
    /// Set-user-id, to this user.
    User(u32),
    /// Set-group-id, to this group.
    Group(u32),
    /// File capabilities.
    Capabilities,
}

/// What `execve(2)` of `path` by this process would change.
///
/// # Errors
/// The file's metadata cannot be read.
pub fn gained_by(path: &Path) -> io::Result<Gain> {
    let metadata = fs::metadata(path)?;
    if ids_cannot_change(path) {
        return Ok(Gain::Nothing);
    }
    let (mode, user, group) = (metadata.mode(), metadata.uid(), metadata.gid());
    // Without group execute permission the bit means mandatory locking (inode(7)).
    let set_group = mode & (libc::S_ISGID | libc::S_IXGRP) == libc::S_ISGID | libc::S_IXGRP;
    Ok(if mode & libc::S_ISUID != 0 && user != geteuid().as_raw() {
        Gain::User(user)
    } else if set_group && group != getegid().as_raw() {
        Gain::Group(group)
    } else if !getuid().is_root() && has_capabilities(path) {
        Gain::Capabilities
    } else {
        Gain::Nothing
    })
}

/// `nosuid` mounts and no_new_privs make the bits and capabilities of a file void.
fn ids_cannot_change(path: &Path) -> bool {
    // SAFETY: PR_GET_NO_NEW_PRIVS takes no pointer.
    let no_new_privileges = unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } == 1;
    no_new_privileges || statvfs(path).is_ok_and(|fs| fs.flags().contains(FsFlags::ST_NOSUID))
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both names end in zero; with size 0 nothing is written.
    let size =
        unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) };
    size > 0
}
