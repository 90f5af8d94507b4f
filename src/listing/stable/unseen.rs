//! What happens out of sight or not at all, each in two runs that differ.

use super::leaks::{Program, Run, both, memory};
use crate::check::synthetic::at;
use crate::listing::golden::leak;
use crate::record::marker::Marker;
use crate::record::step::{Access, Syscall};
use crate::registers::{R11, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, flag};

const SYSCALL: &[u8] = &[0x0f, 0x05];

/// `call` of something that runs natively, and in it a signal whose handler runs natively, too.
fn interrupted_call(program: &mut Program, run: Run) {
    program.execute(&[0xe8, 0, 0, 0, 0], |r| r.general[RSP] -= 8);
    let resume = program.0.registers.rip;
    program.0.marker(Marker::Native { target: at(0x1900), resume });
    program.0.marker(Marker::Signal { number: 10, handler: at(0x1a00) });
    program.0.marker(Marker::Native { target: at(0x1a00), resume: at(0x1b00) });
    program.0.marker(Marker::Sigreturn);
    program.0.registers.general[RSP] += 8;
    for register in [RCX, RDX, RSI, RDI] {
        program.0.registers.general[register] = run.chance & 0xffff;
    }
}

#[test]
fn a_handler_that_runs_natively_does_not_move_the_stack() {
    let text = both(|program, run| {
        program.execute(&[0x53], |r| r.general[RSP] -= 8);
        interrupted_call(program, run);
        // mov edi,10: what the call left there is nobody's.
        program.execute(&[0xbf, 10, 0, 0, 0], |r| r.general[RDI] = 10);
        program.execute(&[0x5b], |r| r.general[RSP] += 8);
    });
    assert!(text.contains("rdi ?→0xa"), "{text}");
    assert!(text.contains("rsp stack-0x8→stack"), "{text}");
    assert!(!text.contains("rsp handler"), "{text}");
}

#[test]
fn a_call_that_does_not_come_back_changes_nothing() {
    let text = both(|program, run| {
        program.execute(&[0xb8, 231, 0, 0, 0], |r| r.general[RAX] = libc::SYS_exit_group as u64);
        let next = program.0.registers.rip.in_elf(crate::check::synthetic::BIAS).0 + 2;
        let number = libc::SYS_exit_group as u64;
        let call = leak(Syscall { number, arguments: [1, 0, 0, 0, 0, 0], result: number });
        let left =
            |r: &mut crate::registers::Registers| (r.general[RCX], r.general[R11]) = (run.chance, 0x246);
        program.0.step(next, left, |step| (step.bytes, step.syscall) = (Some(SYSCALL), Some(call)));
    });
    let row = text.lines().find(|line| line.contains("exit_group")).unwrap();
    assert!(!row.contains('→'), "{row}");
}

#[test]
fn shifts_by_nothing_leave_the_flags() {
    let text = both(|program, run| {
        program.execute(&[0xb9, 0, 0, 0, 0], |r| r.general[RCX] = 0);
        program.0.registers.rflags |= if run.chance & 1 == 0 { flag::CF | flag::ZF } else { flag::SF };
        // shl rdi,cl
        program.execute(&[0x48, 0xd3, 0xe7], |_| {});
        // shl ebx,32 by an immediate is one by nothing, too.
        program.execute(&[0xc1, 0xe3, 32], |_| {});
    });
    assert!(!["CF", "ZF", "SF", "OF"].iter().any(|flag| text.contains(flag)), "{text}");
    // By something they are the shift's.
    let text = both(|program, _| {
        program.execute(&[0xbb, 1, 0, 0, 0], |r| r.general[RBX] = 1);
        program.execute(&[0xc1, 0xeb, 1], |r| {
            r.general[RBX] = 0;
            r.rflags |= flag::CF | flag::ZF;
        });
    });
    assert!(text.contains("+CF") && text.contains("+ZF"), "{text}");
}

#[test]
fn a_mapping_is_a_block_however_near_it_lies() {
    let text = both(|program, run| {
        let other = 0x7f12_3456_7000_u64;
        // Of two runs, one maps right behind what is known already.
        let mapped = if run.chance & 1 == 0 { other + 0x1000 } else { other + 0x80_0000 };
        program.touch(
            &[0x48, 0x8b, 0x1f],
            memory(Access::Read, run.rsp + 0x20, 8, &other.to_le_bytes()),
            |r| {
                r.general[RBX] = other;
            },
        );
        let number = libc::SYS_mmap as u64;
        program.execute(&[0xb8, 9, 0, 0, 0], |r| r.general[RAX] = number);
        for (bytes, register, value) in
            [(&[0x31_u8, 0xff][..], RDI, 0), (&[0xbe, 0, 0x20, 0, 0], RSI, 8192), (&[0x31, 0xd2], RDX, 0)]
        {
            program.execute(leak(bytes), |r| r.general[register] = value);
        }
        let next = program.0.registers.rip.in_elf(crate::check::synthetic::BIAS).0 + 2;
        let call = leak(Syscall { number, arguments: [0, 8192, 0, 0, 0, 0], result: mapped });
        let answered =
            |r: &mut crate::registers::Registers| (r.general[RAX], r.general[R11]) = (mapped, 0x246);
        program.0.step(next, answered, |step| (step.bytes, step.syscall) = (Some(SYSCALL), Some(call)));
        // lea rbx,[rax+0x1ff8]: in it still.
        program.execute(&[0x48, 0x8d, 0x98, 0xf8, 0x1f, 0, 0], |r| r.general[RBX] = mapped + 0x1ff8);
    });
    // The caller left an address of its own in r9.
    assert!(text.contains("rbx mem2→mem3+0x1ff8"), "{text}");
}

#[test]
fn an_address_stays_relative_to_what_it_was_made_from() {
    let text = both(|program, run| {
        // lea rbx,[rsp-0x300]; and rsp,-64; then rbx is moved and written through.
        program.execute(&[0x48, 0x8d, 0x9c, 0x24, 0, 0xfd, 0xff, 0xff], |r| {
            r.general[RBX] = r.general[RSP] - 0x300;
        });
        program.execute(&[0x48, 0x83, 0xe4, 0xc0], |r| r.general[RSP] &= !63);
        program.execute(&[0x48, 0x89, 0xd8], |r| r.general[RAX] = r.general[RBX]);
        program.execute(&[0x48, 0x8d, 0x4c, 0x24, 0xf0], |r| r.general[RCX] = r.general[RSP] - 0x10);
        let stored = memory(Access::Write, run.rsp - 0x300, 1, &[1]);
        program.touch(&[0xc6, 0x00, 1], stored, |_| {});
        // How far one is from the other differs.
        program.execute(&[0x48, 0x29, 0xc1], |r| r.general[RCX] -= r.general[RAX]);
    });
    assert!(text.contains("rax ?→stack-0x300"), "{text}");
    assert!(text.contains("rcx ?→aligned-0x10"), "{text}");
    assert!(text.contains("write 1 [stack-0x300]=0x1"), "{text}");
    assert!(text.contains("rcx aligned-0x10→?"), "{text}");
}

#[test]
fn enter_makes_a_frame() {
    let text = both(|program, run| {
        let rsp = run.rsp;
        let saved = program.0.registers.general[RBP].to_le_bytes();
        let pushed = memory(Access::Write, rsp - 8, 8, leak(saved));
        program
            .touch(&[0xc8, 0x20, 0, 0], pushed, |r| (r.general[RBP], r.general[RSP]) = (rsp - 8, rsp - 0x28));
    });
    assert!(text.contains("rbp ?→stack-0x8"), "{text}");
}

/// rdtsc; then rax is masked and as it happens to be.
fn masked_number(program: &mut Program, run: Run, value: u64) {
    program.execute(&[0x0f, 0x31], |r| (r.general[RAX], r.general[RDX]) = (run.chance & 0xffff, 0));
    program.execute(&[0x48, 0x89, 0xc1], |r| r.general[RCX] = r.general[RAX]);
    program.0.registers.general[RCX] = value;
}

#[test]
fn what_chance_repeats_shows_neither_count_nor_pointers() {
    let text = both(|program, run| {
        let rsp = run.rsp;
        let count = 3 + (run.chance & 3);
        // A byte of chance among those that are searched: rdtsc; mov [rsp-0x20],al
        program.execute(&[0x0f, 0x31], |r| (r.general[RAX], r.general[RDX]) = (run.chance & 0xff, 0));
        let stored = memory(Access::Write, rsp - 0x1e, 1, leak([run.chance as u8]));
        program.touch(&[0x88, 0x44, 0x24, 0xe2], stored, |_| {});
        program.execute(&[0xb8, 7, 0, 0, 0], |r| r.general[RAX] = 7);
        program.execute(&[0xb9, 9, 0, 0, 0], |r| r.general[RCX] = 9);
        // lea rdi,[rsp-0x20]; repne scasb
        program.execute(&[0x48, 0x8d, 0x7c, 0x24, 0xe0], |r| r.general[RDI] = rsp - 0x20);
        let next = program.0.registers.rip.in_elf(crate::check::synthetic::BIAS).0 + 2;
        let found = |r: &mut crate::registers::Registers| {
            (r.general[RDI], r.general[RCX]) = (rsp - 0x20 + count, 9 - count);
            r.rflags |= flag::ZF;
        };
        program.0.step(next, found, |step| {
            (step.bytes, step.count) = (Some(&[0xf2, 0xae][..]), Some(count));
            step.memory = memory(Access::Read, rsp - 0x20, 1, &[0]);
        });
    });
    let row = text.lines().find(|line| line.contains("scasb")).unwrap();
    assert!(row.contains(" ×?") && row.contains("rcx 0x9→?") && row.contains("rdi stack-0x20→?"), "{text}");
    assert!(!row.contains("ZF"), "{text}");
}

#[test]
fn a_count_of_chance_moves_pointers_by_chance() {
    let text = both(|program, run| {
        masked_number(program, run, run.chance & 7);
        let (count, to) = (run.chance & 7, program.0.registers.general[RDI]);
        let next = program.0.registers.rip.in_elf(crate::check::synthetic::BIAS).0 + 2;
        program.0.step(
            next,
            |r| (r.general[RDI], r.general[RCX]) = (to + count, 0),
            |step| (step.bytes, step.count) = (Some(&[0xf3, 0xaa][..]), Some(count)),
        );
    });
    assert!(text.contains("rdi stack+0x20→?") && text.contains(" ×?"), "{text}");
}

#[test]
fn an_address_made_of_what_is_masked_is_masked() {
    let text = both(|program, run| {
        // lea rbx,[rsp-0x80]; and rbx,-64; mov byte ptr [rbx+1],5
        program.execute(&[0x48, 0x8d, 0x5c, 0x24, 0x80], |r| r.general[RBX] = run.rsp - 0x80);
        program.execute(&[0x48, 0x83, 0xe3, 0xc0], |r| r.general[RBX] &= !63);
        let aligned = (run.rsp - 0x80) & !63;
        program.touch(&[0xc6, 0x43, 1, 5], memory(Access::Write, aligned + 1, 1, &[5]), |_| {});
    });
    assert!(text.contains("write 1 [?]=0x5"), "{text}");
}

#[test]
fn what_is_loaded_does_not_come_from_its_address() {
    let text = both(|program, run| {
        // movzx edi,byte ptr [rdi]; movsx rbx,word ptr [rsp+0x20]
        let text = memory(Access::Read, run.rsp + 0x20, 1, &[7]);
        program.execute(&[0x48, 0x89, 0xfb], |r| r.general[RBX] = r.general[RDI]);
        program.touch(&[0x48, 0x0f, 0xbe, 0x1b], text, |r| r.general[RBX] = 7);
    });
    assert!(text.contains("rbx stack+0x20→0x7"), "as what it was loaded from: {text}");
}

#[test]
fn addresses_in_memory_keep_the_flags_that_every_run_has() {
    let text = both(|program, run| {
        // mov qword ptr [rsp-0x20],0 by a vector register, then somebody's address there is compared with 1.
        let address = 0x7f12_3456_7000_u64 + (run.chance & 0xff) * 16;
        program.touch(
            &[0x66, 0x0f, 0xd6, 0x44, 0x24, 0xe0],
            memory(Access::Write, run.rsp - 0x20, 8, leak(address.to_le_bytes())),
            |_| {},
        );
        let read = memory(Access::Read, run.rsp - 0x20, 8, leak(address.to_le_bytes()));
        let parity = (address as u8).wrapping_sub(1).count_ones().is_multiple_of(2);
        program.touch(&[0x48, 0x83, 0x7c, 0x24, 0xe0, 1], read, |r| {
            r.rflags = r.rflags & !(flag::PF | flag::ZF) | if parity { flag::PF } else { 0 };
        });
    });
    assert!(text.contains("read 8 [stack-0x20]=mem") && !text.contains("PF"), "{text}");
}
