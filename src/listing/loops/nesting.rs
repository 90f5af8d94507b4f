//! The loops of a flow graph, whatever the order in which a compiler laid their instructions out.

/// How deep loops are told apart. Code nests them by hand; only a graph without structure, such as that of an
/// interpreter, goes deeper, and would take quadratic time.
const DEEPEST: u32 = 64;

/// One loop.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// The instruction at which an iteration begins: the first of the loop to be run.
    pub header: u32,
    /// The loop around it.
    pub parent: Option<u32>,
    level: u32,
}

/// A loop nesting forest: strongly connected parts of the graph, within each of them those that are left without its
/// header, and so on (Steensgaard's; Havlak's, where each loop has one entry).
#[derive(Debug)]
pub struct Nesting {
    pub loops: Vec<Loop>,
    /// The innermost loop around each instruction.
    innermost: Vec<Option<u32>>,
    /// For each instruction, the loops to whose headers it leads from inside.
    latches: Vec<Vec<u32>>,
}

impl Nesting {
    /// The loops of a graph of `successors`, its nodes numbered in the order in which they were first run.
    pub fn of(successors: &[Vec<u32>]) -> Self {
        let mut found = Self {
            loops: Vec::new(),
            innermost: vec![None; successors.len()],
            latches: vec![Vec::new(); successors.len()],
        };
        let mut components = Components::new(successors);
        let mut parts = vec![(None, (0..successors.len() as u32).collect::<Vec<_>>())];
        while let Some((parent, nodes)) = parts.pop() {
            for mut body in components.of(&nodes) {
                let Some(header) = body.iter().copied().min() else { continue };
                if body.len() == 1 && !successors[header as usize].contains(&header) {
                    continue;
                }
                let level = parent.map_or(0, |parent: u32| found.loops[parent as usize].level + 1);
                let number = found.loops.len() as u32;
                found.loops.push(Loop { header, parent, level });
                for &node in &body {
                    found.innermost[node as usize] = Some(number);
                    if successors[node as usize].contains(&header) {
                        found.latches[node as usize].push(number);
                    }
                }
                body.retain(|node| *node != header);
                if level < DEEPEST {
                    parts.push((Some(number), body));
                }
            }
        }
        found
    }

    /// Whether an instruction belongs to a loop.
    pub fn holds(&self, number: u32, instruction: u32) -> bool {
        let level = self.loops[number as usize].level;
        let mut at = self.innermost[instruction as usize];
        while let Some(inner) = at.filter(|at| self.loops[*at as usize].level > level) {
            at = self.loops[inner as usize].parent;
        }
        at == Some(number)
    }

    /// The loops around an instruction, from the innermost outwards.
    pub fn around(&self, instruction: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.innermost[instruction as usize], |at| self.loops[*at as usize].parent)
    }

    /// Whether an iteration that stops at this instruction was run to its end: others went on from there.
    pub fn ends_iteration(&self, number: u32, instruction: u32) -> bool {
        self.latches[instruction as usize].contains(&number)
    }
}

/// Tarjan's algorithm, without recursion and within a part of the graph.
struct Components<'g> {
    successors: &'g [Vec<u32>],
    /// The part that each node lies in, counted up.
    part: Vec<u32>,
    parts: u32,
    /// Number of each node in the order of the search, and the least that its component is known to reach; 0 before.
    order: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
}

impl<'g> Components<'g> {
    fn new(successors: &'g [Vec<u32>]) -> Self {
        let nodes = successors.len();
        Self {
            successors,
            part: vec![0; nodes],
            parts: 0,
            order: vec![0; nodes],
            low: vec![0; nodes],
            on_stack: vec![false; nodes],
        }
    }

    /// The strongly connected components of the graph of `nodes` alone.
    fn of(&mut self, nodes: &[u32]) -> Vec<Vec<u32>> {
        self.parts += 1;
        for &node in nodes {
            self.part[node as usize] = self.parts;
            self.order[node as usize] = 0;
        }
        let (mut components, mut stack, mut counted) = (Vec::new(), Vec::new(), 0);
        for &root in nodes {
            if self.order[root as usize] != 0 {
                continue;
            }
            // Nodes being visited, and how many of their successors were.
            let mut path = vec![(root, 0)];
            while let Some((node, visited)) = path.last_mut() {
                let node = *node;
                let at = node as usize;
                if *visited == 0 {
                    counted += 1;
                    (self.order[at], self.low[at], self.on_stack[at]) = (counted, counted, true);
                    stack.push(node);
                }
                let next = self.successors[at].get(*visited).copied();
                *visited += 1;
                match next {
                    Some(to) if self.part[to as usize] != self.parts => {}
                    Some(to) if self.order[to as usize] == 0 => path.push((to, 0)),
                    Some(to) if self.on_stack[to as usize] => {
                        self.low[at] = self.low[at].min(self.order[to as usize]);
                    }
                    Some(_) => {}
                    None => {
                        path.pop();
                        if let Some((parent, _)) = path.last() {
                            self.low[*parent as usize] = self.low[*parent as usize].min(self.low[at]);
                        }
                        if self.low[at] == self.order[at] {
                            let begins = stack.iter().rposition(|it| *it == node).unwrap_or(0);
                            let component = stack.split_off(begins);
                            component.iter().for_each(|it| self.on_stack[*it as usize] = false);
                            components.push(component);
                        }
                    }
                }
            }
        }
        components
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outer_loop_closed_by_falling_through_is_one() {
        // 0 → 1 → 2 ⟲ → 3 → 1 and 3 → 4: nothing but the graph is known.
        let nesting = Nesting::of(&[vec![1], vec![2], vec![2, 3], vec![4, 1], vec![]]);
        let headers: Vec<_> = nesting.around(2).map(|it| nesting.loops[it as usize].header).collect();
        assert_eq!(headers, [2, 1]);
        let outer = nesting.around(1).next().unwrap();
        assert!(nesting.holds(outer, 2) && nesting.holds(outer, 3) && !nesting.holds(outer, 4));
        assert!(nesting.ends_iteration(outer, 3) && !nesting.ends_iteration(outer, 2));
        assert_eq!(nesting.around(4).count(), 0);
    }

    #[test]
    fn a_graph_without_structure_ends() {
        // Every node leads to every other: a loop in a loop, as deep as is told apart.
        let nodes = 200;
        let all: Vec<u32> = (0..nodes).collect();
        let nesting = Nesting::of(&vec![all; nodes as usize]);
        assert_eq!(nesting.loops.len() as u32, DEEPEST + 1);
        assert_eq!(nesting.around(nodes - 1).count() as u32, DEEPEST + 1);
    }
}
