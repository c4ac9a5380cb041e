//! Which steps wait for which.
//!
//! A step waits for those to which it refers, for those named in its `after`, and, so that nobody sees
//! steps in another order than they stand in, for earlier steps on the same server if it or they say of
//! themselves that they change something. All others go at once.
//!
//! Invariant: a step waits for earlier ones only.

use std::{borrow::Cow, collections::HashMap};

use mux_typegen::names::spell;

use super::StepPlan;

/// What stands before each step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepOrder {
    /// Steps whose values it is made from: without them it cannot be.
    pub needs: Vec<Vec<usize>>,
    /// Steps that only have to have ended. None of `needs` is among them.
    pub after: Vec<Vec<usize>>,
}

/// The steps of one server that may still have to be waited for.
#[derive(Default)]
struct ServerLane {
    last_change: Option<usize>,
    since: Vec<usize>,
}

impl StepOrder {
    /// `changes` says of each step whether its tool says that it changes something.
    pub fn of(plan: &StepPlan, changes: &[bool]) -> Self {
        let mut order = Self::default();
        let mut lanes: HashMap<Cow<'_, str>, ServerLane> = HashMap::new();
        for (index, step) in plan.steps.iter().enumerate() {
            let needs = StepPlan::needed_steps(&step.args);
            let mut after = step.after.clone();
            // However a program spells the server, it is one.
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

    /// How many steps must have ended before this one begins.
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

    /// The steps that can go together, one set after the other.
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
    fn a_step_waits_for_what_it_is_made_of_and_for_nothing_else() {
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
    fn what_changes_something_keeps_its_place_among_the_steps_of_its_server() {
        let text = r#"{"steps":[{"id":"a","tool":"s.get"},{"id":"b","tool":"s.get"},
            {"id":"c","tool":"s.put"},{"id":"d","tool":"s.get"},{"id":"e","tool":"other.get"},
            {"id":"f","tool":"s.put"}]}"#;
        let order = order(text, &[false, false, true, false, false, true]);
        let expected: [Vec<usize>; 6] = [vec![], vec![], vec![0, 1], vec![2], vec![], vec![2, 3]];
        assert_eq!(order.after, expected);
    }

    #[test]
    fn a_server_is_one_however_it_is_spelled() {
        let text = r#"{"steps":[{"id":"a","tool":"my-s.put"},{"id":"b","tool":"my_s.put"},{"id":"c","tool":"mys.put"}]}"#;
        let order = order(text, &[true, true, true]);
        assert_eq!(order.after, [vec![], vec![0], vec![]]);
    }
}
