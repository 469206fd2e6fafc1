//! Saved sessions: the position and the settings of the view, restored when the explorer opens the
//! same trace or program again.

use crate::tui::model::folding::Fold;
use crate::tui::model::{Model, SavedSchedule};
use crate::tui::panes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use traces::{Choice, TaskId, Trace};

/// Longer edited schedules are not saved.
const MAX_CHOICES: usize = 20_000;

/// A saved session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Session {
    /// The build of the target.
    build: String,
    /// The selected step.
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
    /// The choices of an edited schedule: `T2`, or `1/3` for the second of three outcomes.
    #[serde(default)]
    choices: Option<String>,
    /// The step selected in the edited schedule; none if it was the displayed one.
    #[serde(default)]
    choices_step: Option<usize>,
}

/// The session file of a trace, or of a program with its arguments.
#[must_use]
pub fn file(path: Option<&Path>, trace: &Trace) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    match path {
        Some(path) => std::path::absolute(path).ok()?.hash(&mut hasher),
        None => (&trace.header.program, &trace.header.args, &trace.header.cwd).hash(&mut hasher),
    }
    Some(directory()?.join(format!("{:016x}.toml", hasher.finish())))
}

/// The directory of session files.
#[must_use]
pub fn directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")))?;
    Some(state.join("heddle").join("ui"))
}

/// Whether the user starts the explorer for the first time.
#[must_use]
pub fn is_first() -> bool {
    directory().is_some_and(|directory| !directory.exists())
}

/// The session to save.
#[must_use]
pub fn of(model: &Model) -> Session {
    let loaded = model.loaded();
    let choices: Vec<String> = loaded.before(loaded.len()).iter().map(word).collect();
    // An edited schedule that was not restored stays saved.
    let (choices, choices_step) = match (model.is_edited(), &model.saved) {
        (true, _) => ((choices.len() <= MAX_CHOICES).then(|| choices.join(" ")), None),
        (false, Some(saved)) => {
            let words: Vec<String> = saved.choices.iter().map(word).collect();
            (Some(words.join(" ")), Some(saved.cursor))
        }
        (false, None) => (None, None),
    };
    Session {
        build: loaded.trace.header.build_id.clone(),
        step: model.view.cursor,
        pane: model.pane.0.to_owned(),
        fold: model.fold.name().to_owned(),
        enabled: model.show_enabled,
        hidden: model.hidden.clone(),
        pinned: model.pinned.clone(),
        lanes: model.lanes,
        schedule_width: model.pane_sizes.side,
        watched: model.watched.clone(),
        expressions: model.expressions.clone(),
        choices,
        choices_step,
    }
}

/// The contents of the session file.
#[must_use]
pub fn write(session: &Session) -> String {
    toml::to_string(session).unwrap_or_default()
}

/// Parses a session file; none if it is malformed.
#[must_use]
pub fn read(text: &str) -> Option<Session> {
    toml::from_str(text).ok()
}

impl Session {
    /// Restores the view. Returns the step to select in the schedule that is opened; none if the
    /// session was saved on another build or schedule. An edited schedule is stored in the model, to
    /// be run only on request.
    pub fn restore(self, model: &mut Model) -> Option<usize> {
        if let Some(pane) = panes::find(&self.pane) {
            model.pane = pane;
        }
        if let Some(fold) = Fold::ALL.into_iter().find(|fold| fold.name() == self.fold) {
            model.fold = fold;
        }
        model.show_enabled = self.enabled;
        (model.lanes, model.pane_sizes.side) = (self.lanes, self.schedule_width);
        // The schedule may have fewer tasks now; at least one has to be visible.
        if self.hidden.len() < model.loaded().tasks() {
            (model.hidden, model.pinned) = (self.hidden, self.pinned);
        }
        model.watched = self.watched;
        let reads = |text: &String| replay_core::symbols::expressions::parse(text).is_ok();
        model.expressions = self.expressions.into_iter().filter(reads).collect();
        model.update_lines();
        if self.build != model.loaded().trace.header.build_id {
            return None;
        }
        let Some(text) = &self.choices else { return Some(self.step) };
        let choices = text.split(' ').map(choice).collect::<Option<Vec<Choice>>>();
        let cursor = self.choices_step.unwrap_or(self.step);
        model.saved = choices.map(|choices| SavedSchedule { choices, cursor });
        self.choices_step.map(|_| self.step)
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
    use crate::report::samples;
    use crate::walk::loaded_trace::LoadedTrace;
    use std::sync::Arc;

    fn new_model(trace: Trace) -> Model {
        let loaded = Arc::new(LoadedTrace::of(trace));
        crate::tui::update::new_model(loaded, (120, 30))
    }

    #[test]
    fn the_view_is_restored() {
        let mut left = new_model(samples::data_choice());
        left.pane = panes::VALUES;
        left.view.cursor = 3;
        left.watched.push("ready".into());
        left.fold = Fold::Switches;
        left.pinned.insert(TaskId(1));
        let mut again = new_model(samples::data_choice());
        let session = read(&write(&of(&left))).expect("a saved session can be read");
        assert_eq!(session.restore(&mut again), Some(3));
        assert_eq!(again.pane, panes::VALUES);
        assert_eq!(again.watched, ["ready"]);
        assert_eq!((again.fold, again.pinned.len()), (Fold::Switches, 1));
        assert_eq!(again.saved, None);
        // On another build only the view is restored.
        let other = Session { build: "other".into(), ..of(&left) };
        assert_eq!(other.restore(&mut again), None);
        assert_eq!(read("nonsense ="), None);
    }

    #[test]
    fn an_edited_schedule_is_saved_until_it_is_replaced() {
        let mut left = new_model(samples::data_choice());
        left.view.cursor = 3;
        left.original = Arc::new(LoadedTrace::of(samples::two_tasks()));
        let mut again = new_model(samples::data_choice());
        let session = read(&write(&of(&left))).expect("a saved session can be read");
        assert_eq!(session.restore(&mut again), None, "the step is of the edited schedule");
        let saved = again.saved.clone().expect("the edited schedule");
        assert_eq!(saved.choices, left.loaded().before(left.loaded().len()));
        assert_eq!(saved.cursor, 3);
        // If the edited schedule is not restored before leaving, the session retains it, with the
        // position in the opened schedule.
        again.view.cursor = 1;
        let mut third = new_model(samples::data_choice());
        let session = read(&write(&of(&again))).expect("a saved session can be read");
        assert_eq!(session.restore(&mut third), Some(1));
        assert_eq!(third.saved, Some(saved));
    }
}
