//! Calls that wait for a while wait as long as without the emulator, whatever it does to their thread.

use crate::support::assert_prints;

const UNDISTURBED: &str = "\
epoll_wait 0  in time
epoll_pwait2 0  in time
sigtimedwait -1 EAGAIN in time
semtimedop -1 EAGAIN in time
recv -1 EAGAIN in time
poll 0  in time
";

#[test]
fn ignored_signals_do_not_end_a_wait_nor_prolong_it() {
    assert_prints("waits", &[], &["ignored"], UNDISTURBED);
}

#[test]
fn switching_an_event_of_a_waiting_thread_does_not_prolong_its_wait() {
    assert_prints("waits", &[], &["toggled"], UNDISTURBED);
}

#[test]
fn a_handled_signal_ends_a_wait() {
    let expected = "\
epoll_wait -1 EINTR
epoll_pwait2 -1 EINTR
sigtimedwait -1 EINTR
semtimedop -1 EINTR
recv -1 EINTR
poll -1 EINTR
";
    assert_prints("waits", &[], &["handled"], expected);
}
