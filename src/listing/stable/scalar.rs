//! Instructions that compute with the lowest number of a vector register alone.

use iced_x86::Mnemonic;

/// By mnemonic, how many bytes of each vector register count; all where it is 0.
#[derive(Debug)]
pub struct Scalars(Vec<u8>);

impl Default for Scalars {
    fn default() -> Self {
        Self(Mnemonic::values().map(|mnemonic| width(&format!("{mnemonic:?}").to_lowercase())).collect())
    }
}

impl Scalars {
    #[must_use]
    pub fn width(&self, mnemonic: Mnemonic) -> Option<usize> {
        self.0.get(mnemonic as usize).map(|width| usize::from(*width)).filter(|width| *width > 0)
    }
}

/// The instruction set names them so: `addss`, `vsqrtsd`, `cvttsd2si`; but `pabsd` works on integers, all of them.
fn width(name: &str) -> u8 {
    let name = name.strip_prefix('v').unwrap_or(name);
    match name {
        _ if name.starts_with('p') => 0,
        _ if name.ends_with("sd") || name.contains("sd2si") || name.contains("sd2usi") => 8,
        _ if name.ends_with("ss") || name.contains("ss2si") || name.contains("ss2usi") => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name() {
        let scalars = Scalars::default();
        assert_eq!(scalars.width(Mnemonic::Vaddsd), Some(8));
        assert_eq!(scalars.width(Mnemonic::Cvttss2si), Some(4));
        assert_eq!(scalars.width(Mnemonic::Pabsd), None);
        assert_eq!(scalars.width(Mnemonic::Addps), None);
        assert_eq!(scalars.width(Mnemonic::Add), None);
    }
}
