//! What a call ran, instruction by instruction, as far as loops are concerned.

use std::collections::HashMap;

use super::nesting::Nesting;
use crate::address::RuntimeAddr;
use crate::record::marker::Marker;
use crate::record::reader::StepEntry;
use crate::record::verdict::Verdict;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instruction: an index into [`Execution::places`].
    Step(u32),
    /// A stretch out of scope, which began at this instruction.
    Native(u32),
    /// What has to be seen: nothing is like it.
    Unlike,
    /// A handler begins: what follows is no frame that ran before.
    NewFrame,
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The instruction, numbered in the order in which they first ran.
    pub instruction: u32,
    pub depth: u32,
}

/// Which instruction followed which in a call: what its loops are made of.
#[derive(Debug, Default)]
pub struct Graph {
    instructions: HashMap<RuntimeAddr, u32>,
    successors: Vec<Vec<u32>>,
}

/// What rows are followed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Purpose {
    /// Loops, and what is folded of them.
    #[default]
    Both,
    Loops,
    /// The loops are known: these rows are a part of the call.
    Folds,
}

/// The listed rows of one call, in a few bytes each, and which instruction followed which within a frame.
#[derive(Debug, Default)]
pub struct Execution {
    pub events: Vec<Event>,
    pub places: Vec<Place>,
    /// Steps whose number is not one more than that of the one before: index of the event, number of the row.
    pub jumps: Vec<(usize, u64)>,
    known_places: HashMap<(RuntimeAddr, u32), u32>,
    graph: Graph,
    purpose: Purpose,
    /// A handler begins with the next step.
    begins: bool,
    /// The last instruction of each open frame, the outermost first.
    frames: Vec<Option<u32>>,
    row: u64,
}

impl Execution {
    /// For the graph alone.
    #[must_use]
    pub fn for_loops() -> Self {
        Self { purpose: Purpose::Loops, ..Self::default() }
    }

    /// For a part of the call of which `graph` was made.
    #[must_use]
    pub fn part_of(graph: Graph) -> Self {
        Self { graph, purpose: Purpose::Folds, ..Self::default() }
    }

    #[must_use]
    pub fn into_graph(self) -> Graph {
        self.graph
    }

    /// Follows a row.
    pub fn step(&mut self, step: &StepEntry) {
        if step.n != self.row + 1 {
            self.jumps.push((self.events.len(), step.n));
        }
        self.row = step.n;
        let key = (step.address, step.depth);
        let place = match self.known_places.get(&key) {
            Some(place) => *place,
            None => {
                let instruction = self.instruction(step.address);
                self.places.push(Place { instruction, depth: step.depth });
                let place = self.places.len() as u32 - 1;
                self.known_places.insert(key, place);
                place
            }
        };
        if self.purpose != Purpose::Folds {
            self.follow(self.places[place as usize]);
        }
        self.begins = false;
        if self.purpose == Purpose::Loops {
            return;
        }
        self.events.push(Event::Step(place));
        if !matches!(step.verdict, Verdict::Exact | Verdict::Reconstructed) {
            self.events.push(Event::Unlike);
        }
    }

    /// Follows a marker. All but native stretches have to be seen, but for those that begin and end a call.
    pub fn marker(&mut self, marker: &Marker) {
        let event = match *marker {
            Marker::Enter { .. } | Marker::Leave { .. } | Marker::Exec | Marker::Exit { .. } => return,
            Marker::Native { target, .. } => Event::Native(self.instruction(target)),
            _ => Event::Unlike,
        };
        self.begins = matches!(marker, Marker::Signal { .. });
        if self.purpose == Purpose::Loops {
            return;
        }
        self.events.push(event);
        if let Marker::Signal { .. } = marker {
            self.events.push(Event::NewFrame);
        }
    }

    /// Loops of what ran. A loop is the same in every frame of its function.
    pub fn nesting(&self) -> Nesting {
        Nesting::of(&self.graph.successors)
    }

    fn instruction(&mut self, address: RuntimeAddr) -> u32 {
        let next = self.graph.successors.len() as u32;
        let number = *self.graph.instructions.entry(address).or_insert(next);
        if number == next {
            self.graph.successors.push(Vec::new());
        }
        number
    }

    /// Notes from which instruction of its frame the step came.
    fn follow(&mut self, Place { instruction, depth }: Place) {
        let depth = depth as usize;
        self.frames.truncate(if self.begins { depth } else { depth + 1 });
        self.frames.resize(depth + 1, None);
        let Some(from) = self.frames[depth].replace(instruction) else { return };
        let known = &mut self.graph.successors[from as usize];
        match known.iter().position(|to| *to == instruction) {
            // Where it went last is where it is likely to go again.
            Some(at) => known.swap(0, at),
            None => known.push(instruction),
        }
    }
}
