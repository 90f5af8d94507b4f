//! The memory routines that the compiler calls, as our own and local to this library: libc's may be what is being
//! traced, and a breakpoint in memcpy would be hit by the handler's own copy.
//!
//! # Signal safety
//! String instructions; no stack, no state.

use std::arch::global_asm;

global_asm!(
    ".macro overstep_local name",
    ".globl \\name",
    ".hidden \\name",
    ".type \\name,@function",
    "\\name:",
    ".endm",
    // void *memcpy(void *to, const void *from, size_t length)
    "overstep_local memcpy",
    "mov rax, rdi",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    // void *memmove(void *to, const void *from, size_t length): backwards where the ranges overlap that way.
    "overstep_local memmove",
    "mov rax, rdi",
    "mov rcx, rdx",
    "mov rdx, rdi",
    "sub rdx, rsi",
    "cmp rdx, rcx",
    "jb 2f",
    "rep movsb",
    "ret",
    "2:",
    "lea rdi, [rdi + rcx - 1]",
    "lea rsi, [rsi + rcx - 1]",
    "std",
    "rep movsb",
    "cld",
    "ret",
    // void *memset(void *to, int byte, size_t length)
    "overstep_local memset",
    "mov r8, rdi",
    "mov eax, esi",
    "mov rcx, rdx",
    "rep stosb",
    "mov rax, r8",
    "ret",
    // int memcmp(const void *a, const void *b, size_t length); bcmp asks only whether they differ.
    "overstep_local memcmp",
    "overstep_local bcmp",
    "mov rcx, rdx",
    "xor eax, eax",
    "cmp eax, eax",
    "repe cmpsb",
    "je 2f",
    "movzx eax, byte ptr [rdi - 1]",
    "movzx edx, byte ptr [rsi - 1]",
    "sub eax, edx",
    "2:",
    "ret",
    // size_t strlen(const char *string)
    "overstep_local strlen",
    "mov rdx, rdi",
    "xor eax, eax",
    "mov rcx, -1",
    "repne scasb",
    "mov rax, rdi",
    "sub rax, rdx",
    "dec rax",
    "ret",
    ".purgem overstep_local",
);
