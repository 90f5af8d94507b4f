//! What is known of the bytes of memory.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use super::doubt::Doubts;
use super::tag::{Tag, Value, WIDEST};

/// Bytes of memory that are looked up at once.
const GRANULE: u64 = 8;

/// The most bytes that one call marks: a length of nonsense must not take for ever.
const MOST: u64 = 1 << 20;

/// The largest stack that is looked for below a call's frame: Linux's default limit.
const STACK_BELOW: u64 = 8 << 20;
/// How far the callers' frames are looked for above it.
const STACK_ABOVE: u64 = 4 << 20;

type Cell = [Option<Tag>; GRANULE as usize];

const UNSEEN: Cell = [None; GRANULE as usize];

/// Memory as one thread has used it. Bytes that nothing here wrote are unseen, and what they hold has to say what they are;
/// but below the stack pointer at entry of the call lies garbage, until somebody writes there.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    cells: HashMap<u64, Cell>,
    /// Below the stack pointer at entry, where frames come and go.
    frames: BTreeMap<u64, Cell>,
    /// Where those may lie.
    stack: Range<u64>,
    /// What lies below this in the stack is garbage where no frame's cell says otherwise.
    floor: u64,
    /// The kernel wrote nobody knows where: all that is not known is from outside.
    overwritten: bool,
    /// Where functions that were given what came from outside may have written.
    doubts: Doubts,
    /// A stream writes to memory.
    streams: bool,
}

impl Shadow {
    /// Memory of a process that has these constants.
    #[must_use]
    pub fn new(constants: Rc<[Range<u64>]>) -> Self {
        Self { doubts: Doubts::new(constants), ..Self::default() }
    }

    /// Begins a call with this stack pointer. What came from outside stays where it is, but in the stack.
    pub fn begin_call(&mut self, rsp: u64) {
        let stack = rsp.saturating_sub(STACK_BELOW)..rsp;
        self.cells.retain(|granule, cell| {
            cell.contains(&Some(Tag::Outside)) && !stack.contains(&(granule * GRANULE))
        });
        let mut doubts = std::mem::take(&mut self.doubts);
        doubts.begin_call(rsp..rsp.saturating_add(STACK_ABOVE));
        *self = Self { cells: std::mem::take(&mut self.cells), floor: rsp, stack, doubts, ..Self::default() };
    }

    /// A function that was given what came from outside has run out of sight, and nobody knows what it writes: where its
    /// `arguments` lead, or anywhere else that it has a pointer to. Only what came from outside already, and addresses, which
    /// would show if they were none any more, stay what they are there.
    pub fn doubt(&mut self, arguments: impl Iterator<Item = u64>) {
        self.doubts.begin();
        for argument in arguments {
            for address in self.doubts.add(argument) {
                if matches!(self.byte(address), Some(Tag::Number | Tag::Garbage)) {
                    self.forget(address);
                }
            }
        }
    }

    /// A stream on memory was opened: what is written to it comes to memory in sight.
    pub const fn opens_stream(&mut self) {
        self.streams = true;
    }

    /// Whether there is such a stream.
    #[must_use]
    pub const fn has_streams(&self) -> bool {
        self.streams
    }

    /// Native code ran with this stack pointer: below it nothing has lasted, and above it whatever is not written yet may
    /// have been.
    pub fn ran_natively(&mut self, rsp: u64) {
        if self.stack.contains(&rsp) {
            self.frames = self.frames.split_off(&(rsp / GRANULE));
            self.floor = rsp;
        }
    }

    /// A function ran with this stack pointer that wrote nothing of its caller's but where its arguments lead.
    pub fn ran_aside(&mut self, rsp: u64) {
        if self.stack.contains(&rsp) {
            self.frames = self.frames.split_off(&(rsp / GRANULE));
        }
    }

    /// Native code has used the stack down to here, and what it wrote there is its caller's to read.
    pub const fn grew(&mut self, rsp: u64) {
        if rsp < self.floor && rsp >= self.stack.start {
            self.floor = rsp;
        }
    }

    /// The kernel wrote somewhere.
    pub fn overwrite(&mut self) {
        (self.cells, self.frames, self.overwritten) = (HashMap::new(), BTreeMap::new(), true);
    }

    /// What is known of `size` bytes; of those that nobody wrote here, `unseen` is asked by offset. A number there may be any.
    #[must_use]
    pub fn read(&self, address: u64, size: usize, unseen: impl Fn(usize) -> Tag) -> Value {
        let mut tags = [Tag::Number; WIDEST];
        let size = size.min(WIDEST);
        for (i, tag) in tags[..size].iter_mut().enumerate() {
            let address = address.wrapping_add(i as u64);
            *tag = self.byte(address).unwrap_or_else(|| match unseen(i) {
                Tag::Number if self.doubts.is_doubtful(address) => Tag::Outside,
                tag => tag,
            });
        }
        Value::from_tags(&tags[..size])
    }

    fn byte(&self, address: u64) -> Option<Tag> {
        let granule = address / GRANULE;
        let in_frames = self.stack.contains(&address);
        let cell = if in_frames { self.frames.get(&granule) } else { self.cells.get(&granule) };
        let known = cell.and_then(|cell| cell[(address % GRANULE) as usize]);
        known.or_else(|| match in_frames {
            true if address < self.floor => Some(Tag::Garbage),
            _ => self.overwritten.then_some(Tag::Outside),
        })
    }

    /// Writes a value.
    pub fn write(&mut self, address: u64, value: &Value) {
        for (i, tag) in (0..).zip(value.tags()) {
            self.set(address.wrapping_add(i), Some(*tag));
        }
    }

    /// Writes values of one kind to some of those bytes: each may as well be what it was.
    pub fn write_some(&mut self, address: u64, size: u64, written: Tag) {
        for address in (0..size).map(|i| address.wrapping_add(i)) {
            match self.byte(address) {
                Some(Tag::Number) => self.set(address, Some(written)),
                Some(tag) => self.set(address, Some(tag.join(written))),
                // A number among bytes that nobody wrote in sight is one of those.
                None if written == Tag::Number => {}
                None => self.set(address, Some(written)),
            }
        }
    }

    /// Copies what is known of memory, as memmove(3) copies bytes.
    pub fn copy(&mut self, to: u64, from: u64, size: u64) {
        let tag = |address| {
            let doubtful = || self.doubts.is_doubtful(address).then_some(Tag::Outside);
            self.byte(address).or_else(doubtful)
        };
        let tags: Vec<_> = (0..size.min(MOST)).map(|i| tag(from.wrapping_add(i))).collect();
        for (i, tag) in (0..).zip(tags) {
            self.set(to.wrapping_add(i), tag);
        }
    }

    /// All of those bytes are of one kind; nothing says that they are unseen.
    pub fn fill(&mut self, address: u64, size: u64, tag: Option<Tag>) {
        for i in 0..size.min(MOST) {
            self.set(address.wrapping_add(i), tag);
        }
    }

    /// How many bytes from there on came from outside.
    #[must_use]
    pub fn outside_from(&self, address: u64) -> u64 {
        (0..MOST).take_while(|i| self.byte(address.wrapping_add(*i)) == Some(Tag::Outside)).count() as u64
    }

    /// Whether anything of those bytes came from outside, or may have.
    #[must_use]
    pub fn is_outside(&self, address: u64, size: u64) -> bool {
        (0..size.min(MOST)).map(|i| address.wrapping_add(i)).any(|address| match self.byte(address) {
            Some(tag) => tag == Tag::Outside,
            None => self.doubts.is_doubtful(address),
        })
    }

    /// Nobody in sight has written the byte.
    fn forget(&mut self, address: u64) {
        let (granule, byte) = (address / GRANULE, (address % GRANULE) as usize);
        let in_frames = self.stack.contains(&address);
        let cell = if in_frames { self.frames.get_mut(&granule) } else { self.cells.get_mut(&granule) };
        if let Some(cell) = cell {
            cell[byte] = None;
        }
    }

    fn set(&mut self, address: u64, tag: Option<Tag>) {
        let (granule, byte) = (address / GRANULE, (address % GRANULE) as usize);
        if self.stack.contains(&address) {
            // Unseen below the floor would be garbage again.
            self.frames.entry(granule).or_insert(UNSEEN)[byte] = tag.or(Some(Tag::Number));
            return;
        }
        let cell = self.cells.entry(granule).or_insert(UNSEEN);
        cell[byte] = tag;
        if *cell == UNSEEN {
            self.cells.remove(&granule);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tag::Alignment;
    use super::*;

    const RSP: u64 = 0x7ffd_0000_1000;

    fn shadow() -> Shadow {
        let mut shadow = Shadow::default();
        shadow.begin_call(RSP);
        shadow
    }

    fn read(shadow: &Shadow, address: u64, size: usize) -> Value {
        shadow.read(address, size, |_| Tag::Number)
    }

    #[test]
    fn memory_is_told_apart_by_bytes() {
        let mut shadow = shadow();
        shadow.fill(0x1004, 8, Some(Tag::Outside));
        shadow.write(0x1008, &Value::number(4));
        assert!(read(&shadow, 0x1000, 8).is_outside(), "its upper half");
        assert!(read(&shadow, 0x1000, 4).is_number());
        assert!(read(&shadow, 0x1008, 8).is_number());
        shadow.write(0x1004, &Value::number(4));
        assert!(read(&shadow, 0x1000, 16).is_number());
    }

    #[test]
    fn where_functions_with_masked_arguments_may_have_written() {
        let mut shadow = shadow();
        shadow.write(0x1000, &Value::number(8));
        shadow.write(0x5000, &Value::number(8));
        shadow.write(RSP - 8, &Value::number(8));
        shadow.ran_natively(RSP - 0x40);
        shadow.doubt([0x1000, RSP + 0x10].into_iter());
        assert!(read(&shadow, 0x1000, 8).is_outside(), "its argument");
        assert!(read(&shadow, RSP + 0x10, 8).is_outside(), "in the caller's frame");
        assert!(read(&shadow, RSP - 0x20, 8).is_outside(), "nobody wrote there");
        assert!(read(&shadow, 0x5000, 8).is_number() && read(&shadow, RSP - 8, 8).is_number());
        assert!(read(&shadow, RSP, 8).is_number(), "the caller's");
        let address = Value::address(Alignment::Paragraph);
        assert_eq!(
            shadow.read(0x6000, 8, |at| address.tags()[at]),
            address,
            "an address shows that it is one"
        );
        shadow.copy(0x5000, 0x6000, 4);
        assert!(read(&shadow, 0x5000, 4).is_outside());
        shadow.write(0x1000, &Value::number(8));
        assert!(read(&shadow, 0x1000, 8).is_number() && !shadow.is_outside(0x1000, 8));
        assert!(shadow.is_outside(0x1000, 9));
    }

    #[test]
    fn halves_of_an_address_make_one() {
        let address = Value::address(Alignment::Paragraph);
        let mut shadow = shadow();
        shadow.write(0x1010, &address.part(0, 4));
        assert!(!read(&shadow, 0x1010, 8).is_shown());
        shadow.write(0x1014, &address.part(4, 4));
        assert_eq!(read(&shadow, 0x1010, 8), address);
        assert!(!read(&shadow, 0x1012, 2).is_shown());
    }

    #[test]
    fn below_the_stack_pointer_lies_garbage() {
        let mut shadow = shadow();
        assert_eq!(read(&shadow, RSP - 8, 8).joined(), Tag::Garbage);
        assert!(read(&shadow, RSP, 8).is_number(), "the caller's");
        shadow.write(RSP - 8, &Value::number(1));
        assert!(read(&shadow, RSP - 8, 1).is_number());
        assert_eq!(read(&shadow, RSP - 8, 8).joined(), Tag::Garbage, "padding");
        shadow.fill(RSP - 0x20, 8, Some(Tag::Outside));
        shadow.write(RSP - 0x40, &Value::number(8));
        shadow.ran_natively(RSP - 0x30);
        assert!(read(&shadow, RSP - 8, 8).is_number(), "native code may have filled it");
        assert!(read(&shadow, RSP - 0x20, 8).is_outside());
        assert_eq!(read(&shadow, RSP - 0x40, 8).joined(), Tag::Garbage);
        shadow.grew(RSP - 0x40);
        assert!(read(&shadow, RSP - 0x40, 8).is_number(), "a return address into native code");
    }

    #[test]
    fn what_came_from_outside_is_so_in_the_next_call() {
        let mut shadow = shadow();
        shadow.fill(0x1000, 4, Some(Tag::Outside));
        shadow.fill(RSP - 0x10, 4, Some(Tag::Outside));
        shadow.begin_call(RSP);
        assert!(read(&shadow, 0x1000, 8).is_outside());
        assert_eq!(read(&shadow, RSP - 0x10, 8).joined(), Tag::Garbage);
    }
}
