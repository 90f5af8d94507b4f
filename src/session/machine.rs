//! Kernel and CPU, for the trace's header.

use std::fs;

use crate::image::decode::Vendor;
use crate::record::header::{Cpu, DecoderVendor};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// `uname -r`.
    pub kernel: String,
    pub cpu: Cpu,
    pub decoder: DecoderVendor,
}

impl Machine {
    /// The machine this runs on; what `/proc` does not say stays empty.
    #[must_use]
    pub fn here() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self {
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            cpu: cpu(&read("/proc/cpuinfo")),
            decoder: match Vendor::of_this_cpu() {
                Vendor::Intel => DecoderVendor::Intel,
                Vendor::Amd => DecoderVendor::Amd,
            },
        }
    }
}

/// The first CPU of `/proc/cpuinfo` (Linux `arch/x86/kernel/cpu/proc.c`).
fn cpu(cpuinfo: &str) -> Cpu {
    let field = |name: &str| {
        let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(key, _)| key.trim() == name).map_or("", |(_, value)| value.trim())
    };
    let number = |name| field(name).parse().unwrap_or(0);
    Cpu {
        vendor: field("vendor_id").to_owned(),
        family: number("cpu family"),
        model: number("model"),
        stepping: number("stepping"),
        name: field("model name").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpu_is_described() {
        let cpuinfo = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
                       model name\t: AMD EPYC 9R14\nstepping\t: 1\n\nprocessor\t: 1\nmodel\t\t: 99\n";
        let expected = Cpu {
            vendor: "AuthenticAMD".into(),
            family: 25,
            model: 17,
            stepping: 1,
            name: "AMD EPYC 9R14".into(),
        };
        assert_eq!(cpu(cpuinfo), expected);
    }
}
