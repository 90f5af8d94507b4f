//! What is known of a byte, and of the bytes of a value: whether another run would have the same there.

/// The widest operand, in bytes: a zmm register.
pub const WIDEST: usize = 64;

/// What one byte is, in all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tag {
    /// The same in every run.
    #[default]
    Number,
    /// Byte `0`, from the lowest, of an address: whole, it keeps its offset in a region.
    Address(u8, Alignment),
    /// What was left there by nobody knows whom.
    Garbage,
    /// Of an address that was aligned further than every run shares: nobody knows how far it was moved.
    Moved,
    /// From a system call, a clock, chance; or made of an address and no address any more.
    Outside,
}

/// How many of its low bits an address keeps in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alignment {
    /// Strings that the kernel puts on the stack.
    Byte,
    /// The stack, and what is mapped: sixteen bytes.
    Paragraph,
    /// The stack below what a function has aligned itself: of the call's alignments the one by this number. How far that is
    /// from the rest of the stack differs by run.
    Aligned(u8),
    /// Modules and the heap.
    Page,
}

impl Alignment {
    /// Whether addresses of both keep their distance in every run, as far as this tells.
    #[must_use]
    pub fn keeps_distance(self, other: Self) -> bool {
        self == other || !matches!((self, other), (Self::Aligned(_), _) | (_, Self::Aligned(_)))
    }

    /// The bits that are the same in every run.
    #[must_use]
    pub const fn low_bits(self) -> u64 {
        match self {
            Self::Byte => 0,
            Self::Paragraph | Self::Aligned(_) => 0xf,
            Self::Page => 0xfff,
        }
    }
}

impl Tag {
    /// Of something computed from both.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number, Self::Number) => Self::Number,
            (Self::Garbage, Self::Number | Self::Garbage) | (Self::Number, Self::Garbage) => Self::Garbage,
            (Self::Moved, Self::Number | Self::Moved) | (Self::Number, Self::Moved) => Self::Moved,
            _ => Self::Outside,
        }
    }
}

/// The bytes of a register or an operand, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    tags: [Tag; WIDEST],
    size: usize,
}

impl Value {
    /// All of one kind. Not inlined: a store for each byte in every caller takes the compiler minutes.
    #[must_use]
    #[inline(never)]
    pub fn of(tag: Tag, size: usize) -> Self {
        Self { tags: [tag; WIDEST], size: if size > WIDEST { WIDEST } else { size } }
    }

    #[must_use]
    pub fn number(size: usize) -> Self {
        Self::of(Tag::Number, size)
    }

    #[must_use]
    pub fn address(alignment: Alignment) -> Self {
        let mut value = Self::number(8);
        for (byte, tag) in (0..8).zip(&mut value.tags) {
            *tag = Tag::Address(byte, alignment);
        }
        value
    }

    #[must_use]
    pub fn from_tags(tags: &[Tag]) -> Self {
        let mut value = Self::number(tags.len());
        value.tags[..value.size].copy_from_slice(&tags[..value.size]);
        value
    }

    #[must_use]
    pub fn tags(&self) -> &[Tag] {
        &self.tags[..self.size]
    }

    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// `size` bytes of it from byte `from` on; numbers behind its end.
    #[must_use]
    pub fn part(&self, from: usize, size: usize) -> Self {
        let mut part = Self::number(size);
        for (i, tag) in part.tags[..part.size].iter_mut().enumerate() {
            *tag = self.tags().get(from + i).copied().unwrap_or_default();
        }
        part
    }

    /// The same with `part` over its bytes from `from` on.
    #[must_use]
    pub fn with(mut self, from: usize, part: &Self) -> Self {
        for (tag, new) in self.tags[..self.size].iter_mut().skip(from).zip(part.tags()) {
            *tag = *new;
        }
        self
    }

    /// Of what is computed from all of it.
    #[must_use]
    pub fn joined(&self) -> Tag {
        self.tags().iter().fold(Tag::Number, |all, tag| all.join(*tag))
    }

    #[must_use]
    pub fn is_number(&self) -> bool {
        self.tags().iter().all(|tag| *tag == Tag::Number)
    }

    /// Whether it is the whole of one address.
    #[must_use]
    pub fn as_address(&self) -> Option<Alignment> {
        (self.size == 8).then(|| self.low_part()).flatten().filter(|_| !self.tags().contains(&Tag::Number))
    }

    /// Whether it is the lower end of an address, with nothing or numbers above.
    #[must_use]
    pub fn low_part(&self) -> Option<Alignment> {
        let Some(Tag::Address(0, alignment)) = self.tags().first() else { return None };
        let mut above =
            self.tags().iter().zip(0_u8..).skip_while(|(tag, byte)| **tag == Tag::Address(*byte, *alignment));
        above.all(|(tag, _)| *tag == Tag::Number).then_some(*alignment)
    }

    /// Whether every run has the same there: a number, or an address by its region.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.is_number() || self.as_address().is_some()
    }

    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.tags().contains(&Tag::Outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_only_whole() {
        let address = Value::address(Alignment::Paragraph);
        assert_eq!(address.as_address(), Some(Alignment::Paragraph));
        let half = address.part(0, 4);
        assert!(half.as_address().is_none() && !half.is_shown());
        assert_eq!(half.low_part(), Some(Alignment::Paragraph));
        assert_eq!(Value::number(8).with(0, &half).with(4, &address.part(4, 4)), address);
        assert_eq!(Value::number(8).with(0, &half).as_address(), None, "zero-extended");
        assert_eq!(address.with(0, &Value::number(1)).as_address(), None, "its low byte overwritten");
        assert!(!address.with(0, &Value::number(1)).is_shown());
        assert!(address.part(2, 2).low_part().is_none());
    }

    #[test]
    fn what_is_made_of_parts_of_addresses_is_from_outside() {
        assert_eq!(Value::address(Alignment::Page).joined(), Tag::Outside);
        assert_eq!(Value::of(Tag::Garbage, 4).joined(), Tag::Garbage);
        assert_eq!(Value::number(WIDEST).joined(), Tag::Number);
    }
}
