//! Functions that only look at what is asked and then jump to the real one, whose caller sees no one in between.

/// Defines a function that calls `$before` with its first arguments and jumps to the address that returns, with
/// all argument registers as they were; `al` counts the vector ones of a variadic call.
macro_rules! look_first {
    ($(#[$doc:meta])* $name:ident, $before:path) => {
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
                "jmp r11",
                before = sym $before,
            )
        }
    };
}
pub(super) use look_first;
