//! Functions that only look at what is asked and then jump to the real one, whose caller sees no one in between.

/// Defines a function that calls `$before` with its first arguments and jumps to the address that returns, with
/// all argument registers as they were; `al` counts the vector ones of a variadic call. The last word is where it passes
/// by on its way, the address in r11.
macro_rules! look_first {
    ($(#[$doc:meta])* $name:ident, $before:path) => {
        look_first!($(#[$doc])* $name, $before, ::overstep::handler::crossing::straight);
    };
    ($(#[$doc:meta])* $name:ident, $before:path, $passage:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            ::std::arch::naked_asm!(
                "push rax",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "call {before}",
                "mov r11, rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "pop rax",
                "jmp {passage}",
                before = sym $before,
                passage = sym $passage,
            )
        }
    };
}
pub(super) use look_first;
