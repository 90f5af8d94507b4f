//! One workload per class of instruction, and one per class that touches a page not yet there.

#![allow(unsafe_code, reason = "the workloads' labels are symbols of the linker's")]

use super::program::{Workload, workload};

/// What a workload's instruction of interest is there to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// AVX, by CPUID and the kernel.
    Avx,
}

/// A class of instruction at which an overflow can happen.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    pub workload: fn() -> Workload,
    pub needs: Needs,
}

workload!(
    /// A store into a page that is not there yet: the controls' loop.
    page_store, "overstep_page_store", "store to a new page", "", "nop", "mov [r12], rax", "add r12, 4096\nnop", PageEach);
workload!(
    page_load,
    "overstep_page_load",
    "load from a new page",
    "",
    "nop",
    "mov rax, [r12]",
    "add r12, 4096",
    PageEach
);
workload!(
    page_rep_movsb,
    "overstep_page_rep_movsb",
    "rep movsb to a new page",
    "lea rbx, [rsp - 64]",
    "mov rdi, r12\nmov rsi, rbx\nmov ecx, 16",
    "rep movsb",
    "add r12, 4096",
    PageEach
);
workload!(
    page_lock_add,
    "overstep_page_lock_add",
    "lock add on a new page",
    "",
    "nop",
    "lock add qword ptr [r12], 1",
    "add r12, 4096",
    PageEach
);
workload!(
    page_avx_store,
    "overstep_page_avx_store",
    "AVX store to a new page",
    "",
    "nop",
    "vmovups [r12], ymm0",
    "add r12, 4096",
    PageEach
);
workload!(nop, "overstep_nop", "nop", "", "nop", "nop", "nop\nnop\nnop");
workload!(
    alu,
    "overstep_alu",
    "ALU chain",
    "mov eax, 3",
    "add rax, rax\nxor rax, 0x55",
    "add rax, 7",
    "imul rax, rax, 3"
);
workload!(
    load_hit,
    "overstep_load_hit",
    "load, hit",
    "",
    "mov rax, [r12]",
    "mov rax, [r12]",
    "mov rax, [r12 + 8]"
);
workload!(
    load_miss,
    "overstep_load_miss",
    "load, miss",
    "",
    "clflush [r12]\nmfence",
    "mov rax, [r12]",
    "add rax, 1"
);
workload!(
    store,
    "overstep_store",
    "store",
    "",
    "mov [r12], rax",
    "mov [r12 + 8], rax",
    "mov [r12 + 16], rax"
);
workload!(taken, "overstep_taken", "branch, taken", "", "cmp eax, eax\nmov ebx, 1", "je 2f", "nop\n2: nop");
workload!(
    not_taken,
    "overstep_not_taken",
    "branch, not taken",
    "",
    "cmp eax, eax\nmov ebx, 1",
    "jne 2f",
    "nop\n2: nop"
);
workload!(fused, "overstep_fused", "fused cmp+jcc", "", "nop\ncmp eax, eax", "je 2f", "nop\n2: nop");
workload!(call, "overstep_call", "call", "", "nop", "call 2f", "jmp 3f\n2: ret\n3: nop");
workload!(ret, "overstep_ret", "ret", "", "call 2f\njmp 3f\n2: nop", "ret", "3: nop");
workload!(
    rep_movsb,
    "overstep_rep_movsb",
    "rep movsb",
    "",
    "mov rsi, r12\nlea rdi, [r12 + 256]\nmov ecx, 16",
    "rep movsb",
    "nop"
);
workload!(cpuid, "overstep_cpuid", "cpuid", "", "xor eax, eax\nxor ecx, ecx", "cpuid", "nop\nnop");
workload!(rdtsc, "overstep_rdtsc", "rdtsc", "", "nop", "rdtsc", "nop");
workload!(lock_add, "overstep_lock_add", "lock add", "", "nop", "lock add qword ptr [r12], 1", "nop");
workload!(div, "overstep_div", "div", "mov ebx, 3", "xor edx, edx\nmov eax, 1000", "div ebx", "nop");
workload!(avx, "overstep_avx", "AVX", "", "nop", "vaddps ymm0, ymm0, ymm1", "nop");
workload!(syscall, "overstep_syscall", "syscall", "", "mov eax, 39", "syscall", "nop");
workload!(mov_ss, "overstep_mov_ss", "mov ss", "", "mov eax, ss", "mov ss, eax", "nop\nnop");
workload!(
    /// The subject is the instruction in the shadow, at which the CPU holds debug exceptions back
    /// (SDM volume 3, section 6.8.3).
    behind_mov_ss, "overstep_behind_mov_ss", "behind mov ss", "", "mov eax, ss\nmov ss, eax", "nop", "nop"
);
workload!(
    /// Yields the CPU, so that the kernel switches away and comes back behind the `syscall`: nanosleep of one
    /// nanosecond, whose argument the region begins with.
    sleep, "overstep_sleep", "syscall that sleeps", "", "mov eax, 35\nmov rdi, r12\nxor esi, esi\nsyscall", "nop", "nop"
);

workload!(
    /// Where a tracepoint in a system call has to be seen.
    behind_syscall, "overstep_behind_syscall", "behind syscall", "", "mov eax, 39\nsyscall", "nop", "nop"
);

const fn plain(workload: fn() -> Workload) -> Class {
    Class { workload, needs: Needs::Nothing }
}

const fn with_avx(workload: fn() -> Workload) -> Class {
    Class { workload, needs: Needs::Avx }
}

/// The classes at which a breakpoint or a hardware counter can overflow.
pub const CLASSES: [Class; 19] = [
    plain(nop),
    plain(alu),
    plain(load_hit),
    plain(load_miss),
    plain(store),
    plain(taken),
    plain(not_taken),
    plain(fused),
    plain(call),
    plain(ret),
    plain(rep_movsb),
    plain(cpuid),
    plain(rdtsc),
    plain(lock_add),
    plain(div),
    with_avx(avx),
    plain(syscall),
    plain(page_load),
    plain(mov_ss),
];

/// The classes that touch a page which is not there yet, at which a page fault can happen.
pub const FAULTING: [Class; 5] = [
    plain(page_store),
    plain(page_load),
    plain(page_rep_movsb),
    plain(page_lock_add),
    with_avx(page_avx_store),
];

impl Class {
    /// Why this CPU cannot run the workload.
    #[must_use]
    pub fn missing(&self) -> Option<&'static str> {
        (self.needs == Needs::Avx && !std::arch::is_x86_feature_detected!("avx")).then_some("no AVX here")
    }
}
