//! Decides which steps wait for which.
//!
//! A step waits for the steps it refers to and those in its `after`. To keep side effects in program order, it also
//! waits for earlier steps on the same server if its tool or theirs declares that it changes something. All other
//! steps run concurrently.
//!
//! Invariant: a step waits only for earlier steps.

use std::{borrow::Cow, collections::HashMap};

use mux_typegen::names::spell;

use super::StepPlan;

/// The predecessors of each step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepOrder {
    /// Steps whose values the step refers to. The step is skipped if one of them has no value.
    pub needs: Vec<Vec<usize>>,
    /// Steps that only must have ended. Disjoint from `needs`.
    pub after: Vec<Vec<usize>>,
}

/// The steps of one server that may still need waiting for.
#[derive(Default)]
struct ServerLane {
    last_change: Option<usize>,
    since: Vec<usize>,
}

impl StepOrder {
    /// `changes[i]` is whether the tool of step `i` declares that it changes something.
    pub fn of(plan: &StepPlan, changes: &[bool]) -> Self {
        let mut order = Self::default();
        let mut lanes: HashMap<Cow<'_, str>, ServerLane> = HashMap::new();
        for (index, step) in plan.steps.iter().enumerate() {
            let needs = StepPlan::needed_steps(&step.args);
            let mut after = step.after.clone();
            // A program may write the name of one server in several ways.
            let server = spell(step.tool.split('.').next().unwrap_or_default());
            let lane = lanes.entry(server).or_default();
            after.extend(lane.last_change);
            if changes.get(index).copied().unwrap_or(false) {
                after.append(&mut lane.since);
                lane.last_change = Some(index);
            } else {
                lane.since.push(index);
            }
            after.sort_unstable();
            after.dedup();
            after.retain(|before| !needs.contains(before));
            order.needs.push(needs);
            order.after.push(after);
        }
        order
    }

    /// The number of steps that must have ended before this one begins.
    pub fn wait_count(&self, index: usize) -> usize {
        self.needs[index].len() + self.after[index].len()
    }

    pub fn predecessors(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.needs[index].iter().chain(&self.after[index]).copied()
    }

    /// The steps that wait for each step.
    pub fn followers(&self) -> Vec<Vec<usize>> {
        let mut followers = vec![Vec::new(); self.needs.len()];
        for index in 0..self.needs.len() {
            for before in self.predecessors(index) {
                followers[before].push(index);
            }
        }
        followers
    }

    /// Sets of steps that can run concurrently, in execution order.
    pub fn waves(&self) -> Vec<Vec<usize>> {
        let mut waves: Vec<Vec<usize>> = Vec::new();
        let mut levels: Vec<usize> = Vec::with_capacity(self.needs.len());
        for index in 0..self.needs.len() {
            let level = self
                .predecessors(index)
                .map(|before| levels[before] + 1)
                .max();
            let level = level.unwrap_or(0);
            levels.push(level);
            if waves.len() <= level {
                waves.resize_with(level + 1, Vec::new);
            }
            waves[level].push(index);
        }
        waves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(text: &str, changes: &[bool]) -> StepOrder {
        StepOrder::of(
            &super::super::parse_program(text, usize::MAX).unwrap(),
            changes,
        )
    }

    #[test]
    fn step_waits_only_for_referenced_and_named_steps() {
        let text = r#"{"steps":[{"id":"a","tool":"s.t"},{"id":"b","tool":"s.t"},
            {"id":"c","tool":"s.t","args":{"x":"{{a.x}}","y":"{{b}} {{a}}"}},
            {"id":"d","tool":"s.t","args":{"x":"{{c}}"},"after":["b","c"]}]}"#;
        let order = order(text, &[]);
        assert_eq!(order.needs, [vec![], vec![], vec![0, 1], vec![2]]);
        assert_eq!(order.after, [vec![], vec![], vec![], vec![1]]);
        assert_eq!(order.waves(), [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(order.followers(), [vec![2], vec![2, 3], vec![3], vec![]]);
    }

    #[test]
    fn changing_steps_keep_program_order_per_server() {
        let text = r#"{"steps":[{"id":"a","tool":"s.get"},{"id":"b","tool":"s.get"},
            {"id":"c","tool":"s.put"},{"id":"d","tool":"s.get"},{"id":"e","tool":"other.get"},
            {"id":"f","tool":"s.put"}]}"#;
        let order = order(text, &[false, false, true, false, false, true]);
        let expected: [Vec<usize>; 6] = [vec![], vec![], vec![0, 1], vec![2], vec![], vec![2, 3]];
        assert_eq!(order.after, expected);
    }

    #[test]
    fn spellings_of_one_server_share_one_order() {
        let text = r#"{"steps":[{"id":"a","tool":"my-s.put"},{"id":"b","tool":"my_s.put"},{"id":"c","tool":"mys.put"}]}"#;
        let order = order(text, &[true, true, true]);
        assert_eq!(order.after, [vec![], vec![0], vec![]]);
    }
}
