//! Identities of the tasks of a plan.

use super::{Plan, Task};
use crate::task_id::{ENGINE, TaskId};
use bentpipe_results::Clock;

impl Plan {
    /// Returns the identity of `task`. `None` if its results do not follow from the scenario alone:
    /// on the real clock, and with a controller that the calling program has registered.
    pub fn task_id(&self, task: Task) -> Option<TaskId> {
        let case = &self.cases[task.case];
        let digest = case.digest.filter(|_| self.clock == Clock::Virtual)?;
        let numbers = [self.seed.to_le_bytes(), task.run.to_le_bytes()].concat();
        Some(TaskId::of(&[b"run", ENGINE.as_bytes(), digest.0.as_bytes(), &numbers]))
    }

    /// Returns the identity of the case of `task`, which is the same for all its runs and in every
    /// version of the simulator. `None` if its runs have no identity.
    #[cfg(any(test, feature = "store"))]
    pub(crate) fn case_id(&self, task: Task) -> Option<TaskId> {
        self.cases[task.case].digest.map(|digest| digest.0)
    }

    /// Returns the identity of what `task` records besides its results. `None` if it records
    /// nothing, or has no identity.
    #[cfg(any(test, feature = "store"))]
    pub(crate) fn recording_id(&self, task: Task) -> Option<TaskId> {
        let wanted = self.recording_spec(task);
        let id = self.task_id(task).filter(|_| wanted.any())?;
        Some(TaskId::of(&[b"recording", id.as_bytes(), format!("{wanted:?}").as_bytes()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TWO_VARIANTS, plan};
    use std::collections::HashSet;

    fn ids(text: &str) -> Vec<TaskId> {
        let plan = plan(text);
        plan.tasks.iter().map(|&task| plan.task_id(task).unwrap()).collect()
    }

    #[test]
    fn every_run_has_an_identity_of_its_own() {
        let ids = ids(TWO_VARIANTS);
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }

    #[test]
    fn what_does_not_decide_results_does_not_change_the_identity() {
        let before = ids(TWO_VARIANTS);
        for (old, new) in [
            ("name = \"two\"", "name = \"three\"\ntitle = \"Three\"\ndescription = \"d\""),
            ("below = 1.0", "below = 2.0"),
            ("\"1rtt\"", "\"other\""),
            ("forward = { loss = 0.001 }", "forward.loss = 0.001"),
            ("[[expect]]", "[output]\nqlog = true\n[[expect]]"),
        ] {
            let changed = TWO_VARIANTS.replace(old, new);
            assert_ne!(changed, TWO_VARIANTS);
            assert_eq!(ids(&changed), before, "{new}");
        }
        let more = ids(&TWO_VARIANTS.replace("repeat = 6", "repeat = 8"));
        let kept: HashSet<_> = more.into_iter().collect();
        assert!(before.iter().all(|id| kept.contains(id)), "more repeats keep the first ones");
    }

    #[test]
    fn a_change_of_one_variant_leaves_the_other() {
        let before: HashSet<TaskId> = ids(TWO_VARIANTS).into_iter().collect();
        let changed = ids(&TWO_VARIANTS
            .replace("handshake = \"0rtt\"", "handshake = \"0rtt\"\ncongestion = \"bbr3\""));
        let kept = changed.iter().filter(|id| before.contains(id)).count();
        assert_eq!((kept, changed.len()), (12, 24));
        let seed = ids(&TWO_VARIANTS.replace("repeat = 6", "repeat = 6\nseed = 2"));
        assert!(seed.iter().all(|id| !before.contains(id)));
    }

    #[test]
    fn input_files_are_part_of_the_identity_by_content() {
        let directory = tempfile::tempdir().unwrap();
        let text = TWO_VARIANTS
            .replace("{ loss = 0.001 }", "{ loss = { model = \"trace\", file = \"loss.txt\" } }");
        let first = |content: &str| {
            std::fs::write(directory.path().join("loss.txt"), content).unwrap();
            let plan = Plan::parse("t.toml", &text, directory.path(), &Default::default()).unwrap();
            plan.task_id(plan.tasks[0]).unwrap()
        };
        let before = first("0 0 1");
        assert_ne!(before, first("0 1 0"));
        assert_eq!(before, first("0 0 1"));
    }

    #[test]
    fn a_recording_has_an_identity_of_its_own_if_anything_is_recorded() {
        let plan_of = |output: &str| plan(&format!("{TWO_VARIANTS}\n[output]\n{output}\n"));
        let plain = plan_of("");
        let id = |plan: &Plan, index: usize| plan.recording_id(plan.tasks[index]);
        assert!(id(&plain, 0).is_some() && id(&plain, 1).is_none(), "run 0 has time series");
        assert_ne!(id(&plain, 0), id(&plan_of("qlog = true"), 0));
        assert_eq!(id(&plan_of("time_series = \"none\""), 0), None);
    }
}
