//! Where a person left the explorer, so that the next start goes on there.

use super::lines::Fold;
use super::model::{Model, Pane};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use traces::{Choice, TaskId, Trace};

/// Longer schedules are not kept: they begin anew.
const MOST: usize = 20_000;

/// What is kept between two starts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Session {
    /// The build that the schedule is one of.
    build: String,
    step: usize,
    pane: String,
    fold: String,
    enabled: bool,
    #[serde(default)]
    hidden: BTreeSet<TaskId>,
    #[serde(default)]
    pinned: BTreeSet<TaskId>,
    #[serde(default)]
    lanes: Option<bool>,
    #[serde(default)]
    schedule_width: Option<u16>,
    watched: Vec<String>,
    #[serde(default)]
    expressions: Vec<String>,
    /// The choices of the schedule that was shown, where it is not the one that it begins with:
    /// `T2`, or `1/3` for the second of three ways.
    #[serde(default)]
    choices: Option<String>,
}

/// The file for what is looked at: a trace's path, or a program with its arguments.
#[must_use]
pub fn file(path: Option<&Path>, trace: &Trace) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    match path {
        Some(path) => std::path::absolute(path).ok()?.hash(&mut hasher),
        None => (&trace.header.program, &trace.header.args, &trace.header.cwd).hash(&mut hasher),
    }
    Some(directory()?.join(format!("{:016x}.toml", hasher.finish())))
}

/// Where sessions are kept.
#[must_use]
pub fn directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")))?;
    Some(state.join("heddle").join("ui"))
}

/// Whether nobody has used the explorer here before.
#[must_use]
pub fn is_first() -> bool {
    directory().is_some_and(|directory| !directory.exists())
}

/// What is to be kept of a model.
#[must_use]
pub fn of(model: &Model) -> Session {
    let loaded = model.loaded();
    let choices: Vec<String> = loaded.before(loaded.len()).iter().map(word).collect();
    let same = loaded.trace.execution.steps == model.original.trace.execution.steps;
    Session {
        build: loaded.trace.header.build_id.clone(),
        step: model.spot.cursor,
        pane: model.pane.name().to_owned(),
        fold: model.fold.name().to_owned(),
        enabled: model.enabled,
        hidden: model.hidden.clone(),
        pinned: model.pinned.clone(),
        lanes: model.lanes,
        schedule_width: model.division.side,
        watched: model.watched.clone(),
        expressions: model.expressions.clone(),
        choices: (!same && choices.len() <= MOST).then(|| choices.join(" ")),
    }
}

/// As a file says it.
#[must_use]
pub fn write(session: &Session) -> String {
    toml::to_string(session).unwrap_or_default()
}

/// What a file says; nothing where it is not one of ours.
#[must_use]
pub fn read(text: &str) -> Option<Session> {
    toml::from_str(text).ok()
}

impl Session {
    /// Sets a model as it was left, and says where to stand and what to run for it, if its schedule
    /// was another than the one that it begins with. Nothing where the program is another build.
    pub fn restore(self, model: &mut Model) -> Option<(usize, Option<Vec<Choice>>)> {
        if let Some(pane) = Pane::ALL.into_iter().find(|pane| pane.name() == self.pane) {
            model.pane = pane;
        }
        if let Some(fold) = Fold::ALL.into_iter().find(|fold| fold.name() == self.fold) {
            model.fold = fold;
        }
        model.enabled = self.enabled;
        (model.lanes, model.division.side) = (self.lanes, self.schedule_width);
        // Some of them may be gone, but not all: somebody is to be seen.
        if self.hidden.len() < model.loaded().tasks() {
            (model.hidden, model.pinned) = (self.hidden, self.pinned);
        }
        model.watched = self.watched;
        let reads = |text: &String| replay_core::symbols::expressions::parse(text).is_ok();
        model.expressions = self.expressions.into_iter().filter(reads).collect();
        model.relay();
        if self.build != model.loaded().trace.header.build_id {
            return None;
        }
        let choices = match &self.choices {
            Some(text) => Some(text.split(' ').map(choice).collect::<Option<Vec<Choice>>>()?),
            None => None,
        };
        Some((self.step, choices))
    }
}

fn word(choice: &Choice) -> String {
    match choice {
        Choice::Task(task) => task.to_string(),
        Choice::Data { taken, of } => format!("{taken}/{of}"),
    }
}

fn choice(word: &str) -> Option<Choice> {
    if let Some(task) = word.strip_prefix('T') {
        return Some(Choice::Task(TaskId(task.parse().ok()?)));
    }
    let (taken, of) = word.split_once('/')?;
    Some(Choice::Data { taken: taken.parse().ok()?, of: of.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::loaded::Loaded;
    use crate::views::samples;
    use std::sync::Arc;

    #[test]
    fn what_was_left_comes_back() {
        let mut left = Model::new(Arc::new(Loaded::of(samples::data_choice())), (120, 30));
        left.pane = Pane::Values;
        left.spot.cursor = 3;
        left.watched.push("ready".into());
        left.fold = Fold::Switches;
        left.pinned.insert(TaskId(1));
        let mut again = Model::new(Arc::new(Loaded::of(samples::data_choice())), (120, 30));
        let session = read(&write(&of(&left))).expect("what was written can be read");
        assert_eq!(session.restore(&mut again), Some((3, None)));
        assert_eq!(again.pane, Pane::Values);
        assert_eq!(again.watched, ["ready"]);
        assert_eq!((again.fold, again.pinned.len()), (Fold::Switches, 1));
        // Another schedule than the one it begins with is told by its choices.
        left.original = Arc::new(Loaded::of(samples::two_tasks()));
        let session = read(&write(&of(&left))).expect("what was written can be read");
        let (_, choices) = session.restore(&mut again).expect("the build is the same");
        assert_eq!(choices.as_deref(), Some(left.loaded().before(left.loaded().len())));
        // Of another build nothing but looks is taken over.
        let other = Session { build: "other".into(), ..of(&left) };
        assert_eq!(other.restore(&mut again), None);
        assert_eq!(read("nonsense ="), None);
    }
}
