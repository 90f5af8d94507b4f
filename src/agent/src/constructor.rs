//! Runs before the program's own constructors: takes the session out of the environment and arms.

use crate::armed;
use crate::environment;
use crate::invitation::Invitation;

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;

extern "C" fn construct() {
    // SAFETY: the loader runs constructors before the program has a second thread.
    let Some(found) = (unsafe { environment::take_session() }) else { return };
    let Some(session) = Invitation::accept(found.session, found.agent) else { return };
    if session.is_over() {
        return;
    }
    armed::arm(session);
    // SAFETY: registers a function of ours for the rest of the process's life.
    unsafe { libc::pthread_atfork(None, None, Some(armed::in_child)) };
}
