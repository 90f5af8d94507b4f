//! What a system call gave back, where it came back at all.

use crate::record::step::Syscall;

/// The call's result; `None` for a call that there was no coming back from: `exit`, `exit_group`, `rt_sigreturn`, and
/// an exec that did not fail. Their rows hold what rax was before.
#[must_use]
pub fn result(call: &Syscall) -> Option<u64> {
    let failed = super::names::error(call.result).is_some();
    let came_back = match &*super::names::syscall(call.number) {
        "exit" | "exit_group" | "rt_sigreturn" | "sigreturn" => false,
        "execve" | "execveat" => failed,
        _ => true,
    };
    came_back.then_some(call.result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_back_has_a_result() {
        let given = |number: i64, result: i64| {
            let call = Syscall { number: number as u64, arguments: [0; 6], result: result as u64 };
            super::result(&call).map(|result| result as i64)
        };
        assert_eq!(given(libc::SYS_write, 5), Some(5));
        assert_eq!(given(libc::SYS_write, -9), Some(-9));
        assert_eq!(given(libc::SYS_exit_group, libc::SYS_exit_group), None);
        assert_eq!(given(libc::SYS_exit, libc::SYS_exit), None);
        assert_eq!(given(libc::SYS_rt_sigreturn, 15), None);
        assert_eq!(given(libc::SYS_execve, -2), Some(-2), "an exec that failed comes back");
        assert_eq!(given(libc::SYS_execve, libc::SYS_execve), None);
        assert_eq!(given(-1, 0), Some(0), "a number that is no call");
    }
}
