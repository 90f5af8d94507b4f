//! The CPU, and the hypervisor above it.

#![allow(unsafe_code, reason = "the hypervisor's name is only in a CPUID leaf")]

use serde::{Deserialize, Serialize};

/// The first CPU as `/proc/cpuinfo` describes it. Fields are `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// `AuthenticAMD`, `GenuineIntel`.
    pub vendor: Option<String>,
    pub name: Option<String>,
    pub family: Option<u32>,
    pub model: Option<u32>,
    pub stepping: Option<u32>,
    /// As printed there, in hex.
    pub microcode: Option<String>,
    /// The kernel offers shadow stacks to programs (`user_shstk`).
    pub user_shadow_stack: bool,
    /// `None` on bare metal, or when the hypervisor hides.
    pub hypervisor: Option<String>,
}

impl Cpu {
    /// Reads `/proc/cpuinfo` and asks CPUID for the hypervisor.
    #[must_use]
    pub fn read() -> Self {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self { hypervisor: hypervisor(), ..Self::parse(&text) }
    }

    /// `AMD EPYC, family 25, model 1, stepping 1, microcode 0x1000065, in a KVM guest`.
    #[must_use]
    pub fn describe(&self) -> String {
        let name =
            self.name.clone().or_else(|| self.vendor.clone()).unwrap_or_else(|| "unknown CPU".to_owned());
        let number = |name: &str, value: Option<u32>| value.map(|value| format!("{name} {value}"));
        let parts = [
            Some(name),
            number("family", self.family),
            number("model", self.model),
            number("stepping", self.stepping),
            self.microcode.as_ref().map(|revision| format!("microcode {revision}")),
            self.hypervisor.as_ref().map(|name| format!("in a {name} guest")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn parse(cpuinfo: &str) -> Self {
        let first = cpuinfo.split("\n\n").next().unwrap_or_default();
        let field = |name: &str| {
            let mut pairs = first.lines().filter_map(|line| line.split_once(':'));
            pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
        };
        let number = |name: &str| field(name)?.parse().ok();
        let flags = field("flags").unwrap_or_default();
        Self {
            vendor: field("vendor_id"),
            name: field("model name"),
            family: number("cpu family"),
            model: number("model"),
            stepping: number("stepping"),
            microcode: field("microcode"),
            user_shadow_stack: flags.split(' ').any(|flag| flag == "user_shstk"),
            hypervisor: None,
        }
    }
}

/// CPUID leaf 1 says in bit 31 of ECX whether there is one, leaf 0x4000_0000 its name in EBX, ECX, EDX
/// (both vendors leave that range to hypervisors; Linux `arch/x86/kernel/cpu/hypervisor.c`).
fn hypervisor() -> Option<String> {
    const PRESENT: u32 = 1 << 31;
    const NAME: u32 = 0x4000_0000;
    if cpuid(1).ecx & PRESENT == 0 {
        return None;
    }
    let leaf = cpuid(NAME);
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let name = String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned();
    Some(match name.as_str() {
        "KVMKVMKVM" => "KVM".to_owned(),
        "Microsoft Hv" => "Hyper-V".to_owned(),
        "VMwareVMware" => "VMware".to_owned(),
        "XenVMMXenVMM" => "Xen".to_owned(),
        "TCGTCGTCGTCG" => "QEMU (emulated CPU)".to_owned(),
        _ => name,
    })
}

#[allow(unused_unsafe, reason = "newer compilers know that CPUID is safe")]
fn cpuid(leaf: u32) -> std::arch::x86_64::CpuidResult {
    // SAFETY:
    // - every x86_64 CPU has CPUID; an unknown leaf gives zeros or another leaf's values.
    unsafe { std::arch::x86_64::__cpuid(leaf) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpu_is_read() {
        let text = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\n\
                    stepping\t: 8\nmicrocode\t: 0x2b000590\nflags\t\t: fpu user_shstk\n\nprocessor\t: 1\nmodel\t\t: 1\n";
        let cpu = Cpu::parse(text);
        assert_eq!((cpu.family, cpu.model, cpu.stepping), (Some(6), Some(143), Some(8)));
        assert_eq!((cpu.name.as_deref(), cpu.microcode.as_deref()), (Some("Xeon"), Some("0x2b000590")));
        assert!(cpu.user_shadow_stack);
        assert_eq!(Cpu::parse(""), Cpu::default());
    }
}
