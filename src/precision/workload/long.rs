//! Loops of a hundred instructions and more, so that as few passes as a child can keep signals of are a million
//! instructions.

#![allow(unsafe_code, reason = "the workloads' labels are symbols of the linker's")]

use super::program::workload;

workload!(
    /// A breakpoint's: 125 instructions.
    nops, "overstep_long_nops", "long, nops", "", "nop", "nop", ".rept 121\nnop\n.endr"
);

workload!(
    /// A page fault's: 100 instructions, of which the second stores into a page that is not there yet.
    page_store, "overstep_long_page_store", "long, store to a new page", "",
    "nop", "mov [r12], rax", "add r12, 4096\n.rept 95\nnop\n.endr", PageEach);

workload!(
    /// A context switch's: 250 instructions, of which the fourth sleeps ([`super::class::sleep`]).
    sleep, "overstep_long_sleep", "long, syscall that sleeps", "",
    "mov eax, 35\nmov rdi, r12\nxor esi, esi\nsyscall", "nop", ".rept 243\nnop\n.endr"
);

#[cfg(test)]
mod tests {
    use super::super::Path;

    #[test]
    fn loops_are_as_long_as_they_say() {
        let length = |workload| Path::of(&workload).length();
        let lengths = [length(super::nops()), length(super::page_store()), length(super::sleep())];
        assert_eq!(lengths, [125, 100, 250]);
    }
}
