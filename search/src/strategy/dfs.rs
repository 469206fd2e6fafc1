//! Depth-first search over all choices.
//!
//! As in CHESS (Musuvathi et al., "Finding and Reproducing Heisenbugs in Concurrent Programs",
//! 2008), a search is a sequence of schedules: each execution repeats a prefix of the previous one,
//! takes the next alternative at the last node that has one, and continues with the default
//! schedule. The path is the whole state: it is what a saved search contains, and a search is split
//! among workers by giving away the alternatives of one node ([`Dfs::split`]).

use crate::explain::tree::OpenBranches;
use crate::prefix::{Position, Rebuilds, TrailChoice, differs, steps_in_common};
use crate::strategy::descriptor::{BoundUnit, Descriptor};
use crate::{Coverage, Decision, Outcome, PrefixReplay, Reduction, Shareable, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::{Choice, TaskId};

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor = Descriptor::new("dfs", "every schedule, in depth-first order")
    .bounded_by(BoundUnit::Preemptions);

/// A node of the path, at which a choice was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Node {
    /// Which task runs: the tasks to try here, in this order; the index of the current one; the
    /// digest of the enabled set; and the number of tasks before any of them were given to another
    /// search.
    Task { candidates: Vec<TaskId>, taken: usize, digest: u32, ways: u32 },
    /// A data choice: the outcomes below `end` are tried in turn.
    Data { taken: u32, end: u32, of: u32 },
}

/// What the bound limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measure {
    /// Switches away from a task that could have continued.
    Preemptions,
    /// The number of tasks that were passed over although they precede the chosen one in the
    /// default order.
    Delays,
    /// Decisions that differ from the default, with a limit on the preemptions among them.
    Departures {
        /// The most preemptions.
        preemptions: u32,
    },
}

/// Depth-first search, with at most `bound` preemptions per execution if there is a bound.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dfs {
    measure: Measure,
    bound: Option<u32>,
    /// The choices of the running or last execution. Invariant: the execution repeats the nodes
    /// below `depth`, and discovers the others.
    path: Vec<Node>,
    /// For the nodes up to each one, as far as it is computed: the product of their numbers of
    /// alternatives, and the number of steps. Long paths change at their ends.
    #[serde(skip)]
    sums: Vec<(f64, usize)>,
    /// The depth in `path` that the running execution has reached.
    depth: usize,
    /// The cost of the running execution so far.
    spent: u32,
    /// The number of preemptions of the running execution.
    preempted: u32,
    /// Whether anything was left out because of the bound.
    left_out: bool,
    started: bool,
    exhausted: bool,
    /// Whether an execution was cut or given up, so that its rest was not observed.
    holes: bool,
    /// Whether a step of the running execution has another number of alternatives than in an
    /// earlier execution.
    #[serde(skip)]
    differs: bool,
    rebuilds: Rebuilds,
    /// The explored share of the whole tree, if all alternatives of a node lead to equally many
    /// executions.
    covered: f64,
}

impl Dfs {
    /// A search from the start.
    #[must_use]
    pub fn new(bound: Option<u32>) -> Dfs {
        Dfs::by(Measure::Preemptions, bound)
    }

    /// A search from the start with a bound on another measure than preemptions.
    #[must_use]
    pub fn by(measure: Measure, bound: Option<u32>) -> Dfs {
        Dfs {
            measure,
            bound,
            path: Vec::new(),
            sums: Vec::new(),
            depth: 0,
            spent: 0,
            preempted: 0,
            left_out: false,
            started: false,
            exhausted: false,
            holes: false,
            differs: false,
            rebuilds: Rebuilds::default(),
            covered: 0.0,
        }
    }

    /// Whether the bound counts preemptions.
    #[must_use]
    pub(crate) fn counts_preemptions(&self) -> bool {
        self.measure == Measure::Preemptions
    }

    /// The explored share of the search: the sum of the weights of its executions. The weight of an
    /// execution is the product of one over the number of alternatives at each of its nodes (Kilby
    /// et al., "Estimating Search Tree Size", 2006).
    #[must_use]
    pub fn covered(&self) -> f64 {
        self.covered
    }

    fn weight(&mut self) -> f64 {
        let (mut product, mut steps) = self.sums.last().copied().unwrap_or((1.0, 0));
        for node in &self.path[self.sums.len()..] {
            let (ways, step) = match node {
                Node::Task { ways, .. } => (*ways, 1),
                Node::Data { of, .. } => (*of, 0),
            };
            product *= f64::from(ways);
            steps += step;
            self.sums.push((product, steps));
        }
        product.recip()
    }

    /// The cost of the running execution so far.
    #[must_use]
    pub fn spent(&self) -> u32 {
        self.spent
    }

    /// The number of steps that the execution about to begin repeats from the previous one.
    pub(crate) fn repeats(&self) -> usize {
        let is_step = |node: &&Node| matches!(node, Node::Task { .. });
        let Some((last, before)) = self.path.split_last() else { return 0 };
        let steps = match self.sums.get(before.len().wrapping_sub(1)) {
            Some((_, steps)) => *steps,
            None => before.iter().filter(is_step).count(),
        };
        // A data choice is part of the step before it.
        if is_step(&last) { steps } else { steps.saturating_sub(1) }
    }

    /// How often the search discarded a subtree and explored what the program does now.
    pub(crate) fn rebuilds(&self) -> u32 {
        self.rebuilds.count()
    }

    /// Whether the next choice is beyond the repeated prefix.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.depth == self.path.len()
    }

    /// Whether anything was left out because of the bound.
    #[must_use]
    pub fn left_out(&self) -> bool {
        self.left_out
    }

    /// The cost of choosing the task, which is at `position` in the default order.
    fn cost(&self, view: &View<'_>, task: TaskId, position: usize) -> u32 {
        match self.measure {
            Measure::Preemptions => u32::from(view.preempts(task)),
            Measure::Delays => position as u32,
            Measure::Departures { .. } => u32::from(position > 0),
        }
    }

    /// Whether an execution may have this many preemptions.
    fn allows(&self, preempted: u32) -> bool {
        match self.measure {
            Measure::Departures { preemptions } => preempted <= preemptions,
            Measure::Preemptions | Measure::Delays => true,
        }
    }

    /// Between two executions: moves all open alternatives of the node nearest to the root, among
    /// those that have any, to a new search. The two searches together run what this one would have
    /// run.
    pub fn split(&mut self) -> Option<Dfs> {
        if !self.started || self.exhausted {
            return None;
        }
        let at = self.path.iter().position(|node| match node {
            Node::Task { candidates, taken, .. } => taken + 1 < candidates.len(),
            Node::Data { taken, end, .. } => taken + 1 < *end,
        })?;
        // The nodes above have no open alternatives, so the new search ends there.
        let mut path = self.path[..=at].to_vec();
        match (&mut self.path[at], &mut path[at]) {
            (
                Node::Task { candidates, taken, .. },
                Node::Task { candidates: given, taken: first, .. },
            ) => {
                given.drain(..=*taken);
                *first = 0;
                candidates.truncate(*taken + 1);
            }
            (Node::Data { taken, end, .. }, Node::Data { taken: first, .. }) => {
                *first = *taken + 1;
                *end = *taken + 1;
            }
            _ => return None,
        }
        for node in &mut path[..at] {
            if let Node::Task { candidates, taken, .. } = node {
                let only = candidates[*taken];
                *candidates = vec![only];
                *taken = 0;
            }
        }
        let (left_out, holes) = (false, false);
        let rebuilds = self.rebuilds.of_part();
        let fresh = Dfs { path, left_out, holes, rebuilds, ..Dfs::by(self.measure, self.bound) };
        Some(fresh)
    }

    /// Whether an execution was cut or given up, so that its rest was not observed.
    #[must_use]
    pub fn has_holes(&self) -> bool {
        self.holes
    }

    /// The number of known alternatives that were not tried.
    #[must_use]
    pub fn open(&self) -> u64 {
        let left = |node: &Node| match node {
            Node::Task { candidates, taken, .. } => candidates.len() - taken - 1,
            Node::Data { taken, end, .. } => (end - taken - 1) as usize,
        };
        self.path.iter().map(|node| left(node) as u64).sum()
    }

    /// The open branches, between two executions; none if nothing is left.
    pub(crate) fn open_branches(&self) -> Option<OpenBranches> {
        if self.exhausted {
            return None;
        }
        let mut left = OpenBranches { path: Vec::new(), others: Vec::new(), fresh: false };
        for (depth, node) in self.path.iter().enumerate() {
            let last = depth + 1 == self.path.len();
            // In a search that has not begun, the last node is still completely open.
            let before = if !self.started && last { 0 } else { 1 };
            match node {
                Node::Task { candidates, taken, .. } => {
                    let others = candidates[taken + before..].iter();
                    left.others.extend(others.map(|&task| (depth, Choice::Task(task))));
                    if before == 1 {
                        left.path.push(Choice::Task(candidates[*taken]));
                    }
                }
                &Node::Data { taken, end, of } => {
                    let others = taken + before as u32..end;
                    left.others.extend(others.map(|taken| (depth, Choice::Data { taken, of })));
                    if before == 1 {
                        left.path.push(Choice::Data { taken, of });
                    }
                }
            }
        }
        left.fresh = !self.started && self.path.is_empty();
        (left.fresh || !left.others.is_empty()).then_some(left)
    }

    /// Moves on to the next alternative at the last node that has one.
    fn advance(&mut self) -> bool {
        let more = self.take_next();
        self.sums.truncate(self.path.len());
        more
    }

    fn take_next(&mut self) -> bool {
        while let Some(node) = self.path.last_mut() {
            let more = match node {
                Node::Task { candidates, taken, .. } => {
                    *taken += 1;
                    *taken < candidates.len()
                }
                Node::Data { taken, end, .. } => {
                    *taken += 1;
                    *taken < *end
                }
            };
            if more {
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn candidates(&mut self, view: &View<'_>) -> Vec<TaskId> {
        let mut candidates: Vec<TaskId> = view.by_default_order().collect();
        if let Some(bound) = self.bound {
            let mut position = 0;
            let all = candidates.len();
            candidates.retain(|&task| {
                position += 1;
                let preempted = self.preempted + u32::from(view.preempts(task));
                self.spent + self.cost(view, task, position - 1) <= bound && self.allows(preempted)
            });
            self.left_out |= candidates.len() < all;
        }
        candidates
    }
}

impl Strategy for Dfs {
    fn begin(&mut self, _: u64) -> bool {
        if self.exhausted {
            return false;
        }
        if self.started && !self.rebuilds.take() && !self.advance() {
            self.exhausted = true;
            return false;
        }
        self.started = true;
        self.restart();
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if self.depth == self.path.len() {
            let candidates = self.candidates(view);
            let ways = candidates.len() as u32;
            self.path.push(Node::Task { candidates, taken: 0, digest: view.digest, ways });
        }
        if self.differs {
            return differs::in_data_choice(view);
        }
        let Some(Node::Task { candidates, taken, digest, .. }) = self.path.get(self.depth) else {
            return differs::in_kind_of_choice(view);
        };
        let task = candidates[*taken];
        if let Some(diverged) = differs::unless_enabled(view, task) {
            return diverged;
        }
        if *digest != view.digest {
            // The enabled tasks differ from the recorded alternatives.
            return differs::in_enabled_tasks(view);
        }
        self.depth += 1;
        let position = match self.measure {
            Measure::Preemptions => 0,
            Measure::Delays | Measure::Departures { .. } => {
                view.by_default_order().position(|other| other == task).unwrap_or(0)
            }
        };
        self.spent += self.cost(view, task, position);
        self.preempted += u32::from(view.preempts(task));
        Decision::Task(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        if self.depth == self.path.len() {
            self.path.push(Node::Data { taken: 0, end: of, of });
        }
        let taken = match self.path.get(self.depth) {
            Some(&Node::Data { taken, of: before, .. }) if before == of => taken,
            _ => {
                self.differs = true;
                return 0;
            }
        };
        self.depth += 1;
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        self.holes |= matches!(outcome, Outcome::Cut | Outcome::GivenUp) || self.differs;
        // If an execution ended before its prefix did, the alternatives below that point are lost.
        self.holes |= self.depth < self.path.len();
        let left = outcome == Outcome::GivenUp && self.failed_to_repeat();
        self.path.truncate(self.depth);
        self.sums.truncate(self.depth);
        // If the program's behaviour has changed (it stored something on disk), its new behaviour
        // is explored from here.
        if !(left && self.rebuilds.rebuild()) {
            self.covered += self.weight();
        }
    }

    fn coverage(&self) -> Coverage {
        if self.exhausted && !self.holes {
            Coverage::Complete { bound: self.bound }
        } else {
            Coverage::Open
        }
    }
}

impl PrefixReplay for Dfs {
    fn restart(&mut self) {
        self.depth = 0;
        self.spent = 0;
        self.preempted = 0;
        self.differs = false;
    }

    fn expected_digest(&self) -> Option<u32> {
        match self.path.get(self.depth) {
            Some(&Node::Task { digest, .. }) => Some(digest),
            _ => None,
        }
    }

    fn failed_to_repeat(&self) -> bool {
        self.depth < self.path.len() || self.differs
    }

    fn common_steps(&self) -> usize {
        self.repeats()
    }

    fn planned_choices(&self) -> Vec<TrailChoice> {
        let choice = |node: &Node| match node {
            Node::Task { candidates, taken, digest, .. } => {
                TrailChoice::step(candidates[*taken], *digest)
            }
            &Node::Data { taken, of, .. } => TrailChoice::data(taken, of),
        };
        self.path.iter().map(choice).collect()
    }

    fn adopt(&mut self, before: &mut Dfs, trail: &[TrailChoice]) -> usize {
        match self.measure == before.measure {
            true => steps_in_common(&self.planned_choices(), trail),
            false => 0,
        }
    }

    fn position(&self) -> Option<Position> {
        let Dfs { depth, spent, preempted, .. } = *self;
        (!self.differs).then(|| Position { depth, spent, preempted, ..Position::default() })
    }

    fn resume(&mut self, position: &Position) {
        self.depth = position.depth;
        self.spent = position.spent;
        self.preempted = position.preempted;
    }
}

impl Shareable for Dfs {}

impl Reduction for Dfs {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GiveUp;
    use traces::{Choice, Operation, enabled};

    /// Runs one execution of tasks with these numbers of steps, none of which ever blocks; `data`
    /// has the number of outcomes of each step of a task. None if the search is over.
    fn run(dfs: &mut Dfs, lengths: &[u32], data: &[u32]) -> Option<Result<Vec<Choice>, String>> {
        if !dfs.begin(0) {
            return None;
        }
        let mut left = lengths.to_vec();
        let mut choices = Vec::new();
        let mut running = None;
        for step in 0..u64::from(lengths.iter().sum::<u32>()) {
            let enabled: Vec<TaskId> = (0..left.len())
                .filter(|&task| left[task] > 0)
                .map(|task| TaskId(task as u16))
                .collect();
            let operations = vec![Operation::Lock; enabled.len()];
            let digest = enabled::digest(enabled.iter().copied());
            let view = View {
                step,
                running,
                yielded: false,
                site: 0,
                enabled: &enabled,
                operations: &operations,
                digest,
                expiries: &[],
                gave_way: false,
                tasks: &[],
            };
            match dfs.choose(&view) {
                Decision::Task(task) => {
                    choices.push(Choice::Task(task));
                    left[task.index()] -= 1;
                    running = Some(task);
                    let of = data.get(task.index()).copied().unwrap_or(1);
                    if of > 1 {
                        choices.push(Choice::Data { taken: dfs.choose_data(of), of });
                    }
                }
                Decision::GiveUp(GiveUp::Diverged(divergence)) => {
                    dfs.end(Outcome::GivenUp);
                    return Some(Err(divergence.what));
                }
                Decision::GiveUp(other) => panic!("{other:?}"),
            }
        }
        dfs.end(Outcome::Passed);
        Some(Ok(choices))
    }

    /// At every moment, also in searches that were split: executed schedules are explored or partly
    /// explored, pending ones have not run, and explored ones never run later.
    #[test]
    fn a_tree_distinguishes_executed_and_pending_schedules() {
        use crate::explain::tree::{Progress, Tree};
        let (lengths, data) = ([2, 2, 1], [1, 2, 1]);
        let mut all = Vec::new();
        let mut whole = Dfs::new(Some(2));
        while let Some(choices) = run(&mut whole, &lengths, &data) {
            all.push(choices.expect("nothing differs between executions"));
        }
        let mut searches = vec![Dfs::new(Some(2))];
        let mut ran: Vec<Vec<Choice>> = Vec::new();
        loop {
            let mut tree = Tree::default();
            searches.iter().for_each(|search| tree.add(search.open_branches(), search.has_holes()));
            for schedule in &all {
                for length in 1..=schedule.len() {
                    let beginning = &schedule[..length];
                    let with = |list: &[Vec<Choice>]| {
                        list.iter().filter(|one| one.starts_with(beginning)).count()
                    };
                    let expected = match (with(&ran), with(&all)) {
                        (0, _) => Progress::Pending,
                        (some, all) if some == all => Progress::Explored,
                        _ => Progress::Partly,
                    };
                    assert_eq!(tree.progress(beginning), expected, "{beginning:?} in {tree:?}");
                }
            }
            let turn = ran.len() % searches.len();
            if ran.len() % 3 == 1
                && let Some(other) = searches[turn].split()
            {
                searches.push(other);
            }
            let done = run(&mut searches[turn], &lengths, &data);
            match done {
                Some(choices) => ran.push(choices.expect("nothing differs between executions")),
                None => drop(searches.remove(turn)),
            }
            if searches.is_empty() {
                break;
            }
        }
        assert_eq!(ran.len(), all.len());
    }

    fn count(bound: Option<u32>, lengths: &[u32], data: &[u32]) -> usize {
        let mut dfs = Dfs::new(bound);
        let mut seen = Vec::new();
        while let Some(choices) = run(&mut dfs, lengths, data) {
            let choices = choices.expect("nothing differs between executions");
            assert!(!seen.contains(&choices), "{choices:?} ran twice");
            seen.push(choices);
        }
        assert_eq!(dfs.coverage(), Coverage::Complete { bound });
        seen.len()
    }

    #[test]
    fn every_schedule_runs_once() {
        assert_eq!(count(None, &[2, 2, 1], &[]), 30);
        assert_eq!(count(None, &[4, 4], &[]), 70);
        // Each of the two steps of the first task has three outcomes.
        assert_eq!(count(None, &[2, 1], &[3]), 3 * 9);
    }

    #[test]
    fn a_bound_counts_preemptions() {
        // A schedule is a sequence of blocks: a task with n blocks is preempted n - 1 times.
        assert_eq!(count(Some(0), &[2, 2, 1], &[]), 6);
        assert_eq!(count(Some(0), &[1, 2], &[]), 2);
        assert_eq!(count(Some(1), &[1, 2], &[]), 3);
        // 01 01: switching away from 0 is a preemption; switching away from 1 is one only if it has
        // a step left.
        assert_eq!(count(Some(1), &[2, 2], &[]), 4);
        assert_eq!(count(Some(2), &[2, 2], &[]), 6);
    }

    #[test]
    fn an_execution_that_ends_early_is_a_hole() {
        let mut dfs = Dfs::new(None);
        run(&mut dfs, &[2, 2], &[]);
        assert_eq!(
            run(&mut dfs, &[1, 0], &[]),
            Some(Err("an earlier execution had other enabled tasks here".into()))
        );
        // The first execution's prefix is T0, T0, T1, T1: an execution that stops after T0 explores
        // nothing.
        let mut dfs = Dfs::new(None);
        run(&mut dfs, &[2, 2], &[]);
        assert!(dfs.begin(0));
        dfs.end(Outcome::Passed);
        while run(&mut dfs, &[2, 2], &[]).is_some() {}
        assert_eq!(dfs.coverage(), Coverage::Open);
    }

    #[test]
    fn another_enabled_set_or_data_choice_is_a_divergence() {
        let mut dfs = Dfs::new(None);
        run(&mut dfs, &[2, 2], &[]);
        assert!(matches!(run(&mut dfs, &[2, 2, 1], &[]), Some(Err(_))));
        while run(&mut dfs, &[2, 2], &[]).is_some() {}
        assert_eq!(dfs.coverage(), Coverage::Open);

        let mut dfs = Dfs::new(None);
        run(&mut dfs, &[1, 1], &[2]);
        run(&mut dfs, &[1, 1], &[3]);
        while run(&mut dfs, &[1, 1], &[2]).is_some() {}
        assert_eq!(dfs.coverage(), Coverage::Open);
    }

    #[test]
    fn halves_together_run_what_the_whole_would() {
        for (lengths, data, bound) in
            [(&[3, 2, 2][..], &[][..], None), (&[2, 1], &[3], None), (&[3, 3], &[2], Some(2))]
        {
            let mut open = vec![Dfs::new(bound)];
            let mut seen = Vec::new();
            // Each part runs a few executions, and then gives away some of its alternatives.
            while let Some(mut dfs) = open.pop() {
                let mut over = false;
                for _ in 0..3 {
                    let Some(choices) = run(&mut dfs, lengths, data) else {
                        over = true;
                        break;
                    };
                    let choices = choices.expect("nothing differs between executions");
                    assert!(!seen.contains(&choices), "{choices:?} ran twice");
                    seen.push(choices);
                }
                if !over {
                    open.extend(dfs.split());
                    open.push(dfs);
                } else {
                    assert_eq!(dfs.coverage(), Coverage::Complete { bound });
                }
            }
            assert_eq!(seen.len(), count(bound, lengths, data));
        }
    }
}
