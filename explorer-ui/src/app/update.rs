//! How the model changes. Pure: what is to be done outside comes out as effects.

use super::action::{Action, matching};
use super::engine::Reply;
use super::loaded::Loaded;
use super::model::{Effect, Message, Mode, Model, Pane, Spot};
use super::render::{areas, help_lines, top_line};
use crate::views::rows::Mark;
use crate::views::text::count;
use crate::views::{self, Layout, Selection, Style, diff};
use replay_core::walk::standing::Reason;
use std::sync::Arc;
use traces::{Choice, TaskId};

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A key, by its name: `j`, `down`, `ctrl-d`.
    Key(String),
    /// The mouse was pressed here.
    Click(u16, u16),
    /// The wheel moved, by so many notches, down if positive.
    Wheel(i32),
    /// Text was pasted.
    Paste(String),
    /// The screen has this size now.
    Resize(u16, u16),
    /// The engine answered.
    Engine(Reply),
    /// A source file was read, or could not be.
    Source(String, Option<Arc<replay_core::source::Source>>),
    /// Something outside is to be told.
    Told(Message),
}

/// Takes an event up.
pub fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    match event {
        Event::Key(key) => {
            model.message = None;
            key_pressed(model, &key, &mut effects);
        }
        Event::Paste(text) => {
            for letter in text.chars().filter(|letter| !letter.is_control()) {
                typed(model, &letter.to_string());
            }
        }
        Event::Click(x, y) => clicked(model, x, y, &mut effects),
        Event::Wheel(notches) => wheel(model, notches, &mut effects),
        Event::Resize(width, height) => model.size = (width, height),
        Event::Engine(reply) => answered(model, reply, &mut effects),
        Event::Source(path, lines) => drop(model.sources.insert(path, lines)),
        Event::Told(message) => model.message = Some(message),
    }
    effects
}

/// What is to be done when the explorer opens.
pub fn opened(model: &mut Model) -> Vec<Effect> {
    let mut effects = Vec::new();
    // A failing schedule is looked at where it fails.
    let end = model.loaded().len();
    let cursor = if model.loaded().trace.failure.is_some() { end } else { 0 };
    stand(model, cursor, &mut effects);
    effects
}

fn key_pressed(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    match &model.mode {
        Mode::Walk => {
            if let Some(action) = model.keys.action(key) {
                act(model, action, effects);
            } else if key != "esc" {
                say(model, format!("{key} does nothing here; ? lists the keys"));
            }
        }
        Mode::Help(line) => {
            let page = i64::from(model.size.1.saturating_sub(4));
            let moved = match key {
                "down" | "j" => 1,
                "up" | "k" => -1,
                "pagedown" | "space" => page,
                "pageup" => -page,
                _ => {
                    model.mode = Mode::Walk;
                    return;
                }
            };
            let most = help_lines(model).len() as i64 - 1;
            model.mode = Mode::Help((*line as i64 + moved).clamp(0, most.max(0)) as usize);
        }
        Mode::Text(_, lines, _) => {
            let page = i64::from(model.size.1.saturating_sub(4));
            let moved = match key {
                "down" | "j" => 1,
                "up" | "k" => -1,
                "pagedown" | "space" => page,
                "pageup" => -page,
                "y" => {
                    effects.push(Effect::Copy(lines.join("\n") + "\n"));
                    say(model, "the text is copied".into());
                    return;
                }
                _ => {
                    model.mode = Mode::Walk;
                    return;
                }
            };
            scroll(model, moved);
        }
        Mode::Palette { .. } => palette_key(model, key, effects),
        Mode::Search(_) | Mode::GoTo(_) => prompt_key(model, key, effects),
    }
}

/// Moves the text that is read.
fn scroll(model: &mut Model, lines: i64) {
    let room = usize::from(model.size.1.saturating_sub(4));
    if let Mode::Text(_, text, first) = &mut model.mode {
        let most = text.len().saturating_sub(room) as i64;
        *first = (*first as i64 + lines).clamp(0, most) as usize;
    }
}

/// Asks why the schedule that is shown fails.
fn explain(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.loaded().trace.failure.is_none() {
        say(model, "this schedule does not fail: N plays the way to the nearest failure".into());
    } else if let Err(why) = &model.live {
        let why = format!("the program cannot be run: {why}");
        fail(model, why);
    } else {
        model.busy = Some("running schedules near this one".into());
        effects.push(Effect::Explain);
    }
}

/// The schedule that is shown beside another one.
fn compare(model: &mut Model) {
    let nearest = model.nearest.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &model.spot.loaded));
    let (title, first, second) = match nearest {
        Some((of, passing)) => ("A fails, B is the nearest that passes", of, passing),
        None if !Arc::ptr_eq(&model.original, &model.spot.loaded) => {
            ("A is what this began with, B is what is shown", &model.original, &model.spot.loaded)
        }
        None => {
            let text = "nothing to compare with yet: let another task move (1 to 9), or x for the \
                        nearest schedule that passes";
            say(model, text.into());
            return;
        }
    };
    let style = Style { color: false, ascii: model.ascii };
    let cells = text_width(model);
    let text = diff::render(&first.trace, &second.trace, 3, &style, cells);
    model.mode = Mode::Text(title.into(), Arc::new(lines_of(&text)), 0);
}

/// How wide a text may be that lies over the rest.
fn text_width(model: &Model) -> usize {
    usize::from(model.size.0.saturating_sub(8)).max(20)
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn palette_key(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    let Mode::Palette { typed: text, selected } = &mut model.mode else { return };
    let found = matching(text);
    match key {
        "esc" | "ctrl-c" => model.mode = Mode::Walk,
        "enter" => {
            let action = found.get(*selected).map(|one| one.action);
            model.mode = Mode::Walk;
            if let Some(action) = action {
                act(model, action, effects);
            }
        }
        "down" | "ctrl-n" => *selected = (*selected + 1).min(found.len().saturating_sub(1)),
        "up" | "ctrl-p" => *selected = selected.saturating_sub(1),
        other => typed(model, other),
    }
}

fn prompt_key(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    match key {
        "esc" | "ctrl-c" => model.mode = Mode::Walk,
        "enter" => match std::mem::replace(&mut model.mode, Mode::Walk) {
            Mode::Search(text) => search(model, text, effects),
            Mode::GoTo(text) => match text.trim().parse::<usize>() {
                Ok(step) => stand(model, step.saturating_sub(1), effects),
                Err(_) => fail(model, format!("`{text}` is no number of a step")),
            },
            _ => {}
        },
        other => typed(model, other),
    }
}

/// A key where text is typed.
fn typed(model: &mut Model, key: &str) {
    let text = match &mut model.mode {
        Mode::Palette { typed, selected } => {
            *selected = 0;
            typed
        }
        Mode::Search(text) | Mode::GoTo(text) => text,
        Mode::Walk | Mode::Help(_) | Mode::Text(..) => return,
    };
    match key {
        "backspace" => drop(text.pop()),
        "ctrl-u" => text.clear(),
        "space" => text.push(' '),
        letter if letter.chars().count() == 1 && text.len() < 200 => text.push_str(letter),
        _ => {}
    }
}

fn act(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    if let Some(place) = action.pick() {
        pick(model, place, effects);
        return;
    }
    let at = model.spot.cursor;
    let end = model.loaded().len();
    let page = usize::from(areas(model).schedule.height.saturating_sub(2).max(1));
    match action {
        Action::Forward => stand_on_line(model, 1, effects),
        Action::Back => stand_on_line(model, -1, effects),
        Action::PageForward => stand_on_line(model, page as i64, effects),
        Action::PageBack => stand_on_line(model, -(page as i64), effects),
        Action::First => stand(model, 0, effects),
        Action::Last => stand(model, end, effects),
        Action::NextPreemption => {
            let next = model.loaded().preemptions().iter().copied().find(|&step| step > at);
            go(model, next, "no preemption follows", effects);
        }
        Action::PreviousPreemption => {
            let before = model.loaded().preemptions().iter().copied().rfind(|&step| step < at);
            go(model, before, "no preemption before here", effects);
        }
        Action::NextSwitch => {
            let found = (at + 1..end).find(|&step| model.loaded().mark(step) != Mark::None);
            go(model, found, "no switch follows", effects);
        }
        Action::PreviousSwitch => {
            let found = (0..at.min(end)).rfind(|&step| model.loaded().mark(step) != Mark::None);
            go(model, found, "no switch before here", effects);
        }
        Action::UntilBlocked => {
            let found = until_blocked(model.loaded(), at);
            go(model, found, "it does not have to wait any more", effects);
        }
        Action::NextOnObject | Action::PreviousOnObject => {
            let forward = action == Action::NextOnObject;
            let found = on_object(model.loaded(), at, forward);
            go(model, found, "no other step on this object in that direction", effects);
        }
        Action::NextOfTask | Action::PreviousOfTask => {
            let found = of_task(model.loaded(), at, action == Action::NextOfTask);
            go(model, found, "this task has no other step in that direction", effects);
        }
        Action::NextEffect => {
            let found = neighbours(model.loaded(), at, true).min();
            go(model, found, "no step of another task follows directly from this one", effects);
        }
        Action::PreviousCause => {
            let found = neighbours(model.loaded(), at, false).max();
            go(model, found, "this step follows directly from no step of another task", effects);
        }
        Action::GoTo => model.mode = Mode::GoTo(String::new()),
        Action::Search => model.mode = Mode::Search(String::new()),
        Action::OtherData => other_data(model, effects),
        Action::BestMove => best_move(model, false, effects),
        Action::ShowMe => best_move(model, true, effects),
        Action::Undo | Action::Redo => undo(model, action == Action::Undo, effects),
        Action::Original => original(model, effects),
        Action::NextPane | Action::PreviousPane => {
            let step = if action == Action::NextPane { 1 } else { Pane::ALL.len() - 1 };
            let place = Pane::ALL.iter().position(|&pane| pane == model.pane).unwrap_or(0);
            model.pane = Pane::ALL[(place + step) % Pane::ALL.len()];
        }
        Action::Fold => {
            model.fold = !model.fold;
            model.relay();
        }
        Action::Enabled => model.enabled = !model.enabled,
        Action::NextTheme => {
            model.theme = model.theme.next();
            say(model, format!("theme {}", model.theme.name()));
        }
        Action::Ascii => model.ascii = !model.ascii,
        Action::Help => model.mode = Mode::Help(0),
        Action::Palette => model.mode = Mode::Palette { typed: String::new(), selected: 0 },
        Action::Shrink => shrink(model, effects),
        Action::Explain => explain(model, effects),
        Action::Compare => compare(model),
        Action::Save => effects.push(Effect::Save),
        Action::Copy => copy(model, effects),
        Action::CopySchedule => copy_schedule(model, effects),
        Action::Redraw => effects.push(Effect::Redraw),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::Quit => model.quit = true,
        _ => {}
    }
}

fn say(model: &mut Model, text: String) {
    model.message = Some(Message { text, bad: false });
}

fn fail(model: &mut Model, text: String) {
    model.message = Some(Message { text, bad: true });
}

/// Stands at a step, and asks for what is to be seen there.
fn stand(model: &mut Model, step: usize, effects: &mut Vec<Effect>) {
    model.spot.cursor = step.min(model.loaded().len());
    model.standing = model.loaded().standing(model.spot.cursor);
    model.generation += 1;
    model.ahead.clear();
    if let Some((path, _)) = model.shown_source()
        && !model.sources.contains_key(&path)
    {
        effects.push(Effect::Source(path));
    }
    let moves: Vec<(TaskId, Vec<Choice>)> = model
        .standing
        .iter()
        .filter(|one| one.enabled)
        .map(|one| (one.task, moving(model, one.task)))
        .collect();
    model.looking =
        model.live.is_ok() && !moves.is_empty() && model.spot.cursor < model.loaded().len();
    if model.looking {
        effects.push(Effect::Look { generation: model.generation, moves });
    }
}

/// The choices up to here, and then this task.
fn moving(model: &Model, task: TaskId) -> Vec<Choice> {
    let mut choices = model.loaded().choices(model.spot.cursor);
    choices.push(Choice::Task(task));
    choices
}

fn stand_on_line(model: &mut Model, by: i64, effects: &mut Vec<Effect>) {
    let line = model.line_of(model.spot.cursor) as i64 + by;
    let line = line.clamp(0, model.lines.len() as i64) as usize;
    let step = model.lines.get(line).copied().unwrap_or(model.loaded().len());
    stand(model, step, effects);
}

fn go(model: &mut Model, step: Option<usize>, otherwise: &str, effects: &mut Vec<Effect>) {
    match step {
        Some(step) => stand(model, step, effects),
        None => say(model, otherwise.to_owned()),
    }
}

/// The step before which the task that moves here first cannot move; or its end.
fn until_blocked(loaded: &Loaded, at: usize) -> Option<usize> {
    let task = loaded.trace.execution.steps.get(at)?.task;
    (at + 1..=loaded.len()).find(|&step| step == loaded.len() || !loaded.may_move(task, step))
}

fn on_object(loaded: &Loaded, at: usize, forward: bool) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let object = steps.get(at)?.object?;
    let same = |&step: &usize| steps[step].object == Some(object);
    if forward { (at + 1..steps.len()).find(same) } else { (0..at).rfind(same) }
}

/// The next or last step of the task that moves here; at the end, of the task that moved last.
fn of_task(loaded: &Loaded, at: usize, forward: bool) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at).or(steps.last())?.task;
    let same = |&step: &usize| steps[step].task == task;
    if forward { (at + 1..steps.len()).find(same) } else { (0..at).rfind(same) }
}

/// The steps of other tasks that follow directly from a step, or that it follows directly from.
fn neighbours(loaded: &Loaded, at: usize, after: bool) -> impl Iterator<Item = usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at).map(|step| step.task);
    let links = match (task, after) {
        (None, _) => Vec::new(),
        (Some(_), true) => loaded.graph().effects(at),
        (Some(_), false) => loaded.graph().causes(at),
    };
    links.into_iter().map(|link| link.step).filter(move |&step| Some(steps[step].task) != task)
}

fn search(model: &mut Model, text: String, effects: &mut Vec<Effect>) {
    let text = if text.is_empty() { model.looked_for.clone() } else { text };
    model.looked_for.clone_from(&text);
    if text.is_empty() {
        return;
    }
    let wanted = text.to_lowercase();
    let loaded = model.loaded();
    let glyphs = super::render::glyphs(model);
    let end = loaded.len();
    let from = model.spot.cursor + 1;
    let holds = |&step: &usize| {
        let cell = loaded.reader.cell(&loaded.trace, step, glyphs);
        let row = format!("{} {} {}", cell.task, cell.label(usize::MAX, ""), cell.place);
        row.to_lowercase().contains(&wanted)
    };
    let found = (from..end).find(holds).or_else(|| (0..from.min(end)).find(holds));
    match found {
        Some(step) => {
            let around = step < from;
            stand(model, step, effects);
            if around {
                say(model, "from the start again".into());
            }
        }
        None => fail(model, format!("no row holds `{text}`")),
    }
}

/// The task in this place of the list moves.
fn pick(model: &mut Model, place: usize, effects: &mut Vec<Effect>) {
    let Some(one) = model.standing.get(place).cloned() else {
        return fail(model, format!("there is no {} in the list", count(place as u64 + 1, "task")));
    };
    if !one.enabled {
        let why = one.why.as_ref();
        let reason = why.map(|why| Reason(why, &model.loaded().trace.execution).to_string());
        let reason = reason.unwrap_or_else(|| "it waits".into());
        return fail(model, format!("{} cannot move: {reason}", one.task));
    }
    if one.next == Some(model.spot.cursor) {
        return stand(model, model.spot.cursor + 1, effects);
    }
    let choices = moving(model, one.task);
    let cursor = model.spot.cursor + 1;
    run(model, choices, cursor, format!("{} moves", one.task), effects);
}

fn run(
    model: &mut Model,
    choices: Vec<Choice>,
    cursor: usize,
    what: String,
    effects: &mut Vec<Effect>,
) {
    match &model.live {
        Ok(()) => {
            model.busy = Some(what);
            effects.push(Effect::Run { choices, cursor });
        }
        Err(why) => {
            let why = format!("this schedule can only be read: {why}");
            fail(model, why);
        }
    }
}

fn shrink(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.loaded().trace.failure.is_none() {
        return say(model, "this schedule passes: there is nothing to shrink".into());
    }
    match &model.live {
        Ok(()) => {
            model.busy = Some("looking for the smallest schedule that fails so".into());
            effects.push(Effect::Shrink);
        }
        Err(why) => {
            let why = format!("this schedule can only be read: {why}");
            fail(model, why);
        }
    }
}

/// The step before the cursor takes the next way of its last data choice.
fn other_data(model: &mut Model, effects: &mut Vec<Effect>) {
    let at = model.spot.cursor;
    let choices = model.loaded().choices(at);
    let Some(&Choice::Data { taken, of }) = choices.last() else {
        return say(model, "the step before made no choice of its own".into());
    };
    let mut choices = choices;
    choices.pop();
    let taken = (taken + 1) % of;
    choices.push(Choice::Data { taken, of });
    run(model, choices, at, format!("way {} of {of}", taken + 1), effects);
}

fn best_move(model: &mut Model, all: bool, effects: &mut Vec<Effect>) {
    let at = model.spot.cursor;
    let running = at.checked_sub(1).map(|before| model.loaded().trace.execution.steps[before].task);
    let best = model
        .standing
        .iter()
        .enumerate()
        .filter_map(|(place, one)| {
            let nearest = model.ahead.get(&one.task)?.nearest.as_ref()?;
            let switch = u32::from(running != Some(one.task));
            let distance = nearest.preemptions.saturating_add(switch);
            Some((distance, place, nearest.choices.clone()))
        })
        .min_by_key(|&(distance, place, _)| (distance, place));
    match best {
        Some((_, _, choices)) if all => {
            run(model, choices, at, "the way to the failure".into(), effects);
        }
        Some((_, place, _)) => pick(model, place, effects),
        None if model.looking => say(model, "still looking ahead".into()),
        None => say(model, "no failure was found ahead of here".into()),
    }
}

fn undo(model: &mut Model, back: bool, effects: &mut Vec<Effect>) {
    let from = if back { model.past.pop() } else { model.future.pop() };
    let Some(spot) = from else {
        return say(model, if back { "nothing to undo" } else { "nothing to redo" }.into());
    };
    let cursor = spot.cursor;
    let left = std::mem::replace(&mut model.spot, spot);
    if back {
        model.future.push(left)
    } else {
        model.past.push(left)
    }
    model.relay();
    stand(model, cursor, effects);
}

fn original(model: &mut Model, effects: &mut Vec<Effect>) {
    if Arc::ptr_eq(&model.spot.loaded, &model.original) {
        return say(model, "this is the schedule that it began with".into());
    }
    show(model, Arc::clone(&model.original), model.spot.cursor, effects);
}

/// Shows another execution; the one before can be had back.
fn show(model: &mut Model, loaded: Arc<Loaded>, cursor: usize, effects: &mut Vec<Effect>) {
    let left = std::mem::replace(&mut model.spot, Spot { loaded, cursor: 0 });
    model.past.push(left);
    model.future.clear();
    model.relay();
    stand(model, cursor, effects);
}

fn answered(model: &mut Model, reply: Reply, effects: &mut Vec<Effect>) {
    match reply {
        Reply::Ran { loaded, cursor } => {
            model.busy = None;
            let failed = loaded.trace.failure.as_ref().map(|failure| failure.message.clone());
            show(model, loaded, cursor, effects);
            match failed {
                Some(why) => say(model, format!("this schedule fails: {why}")),
                None => say(model, "this schedule passes".into()),
            }
        }
        Reply::Explained { page, nearest } => {
            model.busy = None;
            model.nearest = nearest;
            let known = model.nearest.is_some();
            let style = Style { color: false, ascii: model.ascii };
            let text = crate::views::explain::render(&page.page(), &style, text_width(model));
            let title = if known {
                "why it fails (c compares it with the nearest that passes)"
            } else {
                "why it fails"
            };
            model.mode = Mode::Text(title.into(), Arc::new(lines_of(&text)), 0);
        }
        Reply::Shrunk { loaded, what } => {
            model.busy = None;
            let end = loaded.len();
            show(model, loaded, end, effects);
            say(model, what);
        }
        Reply::Progress(what) => model.busy = model.busy.take().map(|_| what),
        Reply::Failed(why) => {
            model.busy = None;
            fail(model, why);
        }
        Reply::Ahead { generation, task, ahead } => {
            if generation == model.generation {
                model.ahead.insert(task, ahead);
            }
        }
        Reply::Looked { generation } => {
            if generation == model.generation {
                model.looking = false;
            }
        }
    }
}

fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    let loaded = model.loaded();
    let at = model.spot.cursor;
    if at >= loaded.len() {
        return say(model, "there is no step at the end".into());
    }
    let cell = loaded.reader.cell(&loaded.trace, at, super::render::glyphs(model));
    let label = cell.label(usize::MAX, "");
    effects.push(Effect::Copy(format!("step {}: {} {label} {}", at + 1, cell.task, cell.place)));
    say(model, "copied".into());
}

/// Longer schedules do not go on a clipboard: terminals take some 100 kB.
const COPIED_STEPS: usize = 1000;
/// How wide a copied schedule is.
const COPIED_WIDTH: usize = 100;

fn copy_schedule(model: &mut Model, effects: &mut Vec<Effect>) {
    let steps = model.loaded().len();
    if steps > COPIED_STEPS {
        let steps = count(steps as u64, "step");
        let text = format!("{steps} are too many for a clipboard: save with w, then `heddle show`");
        return fail(model, text);
    }
    let style = Style { color: false, ascii: model.ascii };
    let layout =
        Layout { width: COPIED_WIDTH, selection: Selection::default(), enabled: model.enabled };
    effects.push(Effect::Copy(views::schedule(&model.loaded().trace, &style, &layout)));
    say(model, "the schedule was copied".into());
}

fn wheel(model: &mut Model, notches: i32, effects: &mut Vec<Effect>) {
    match &mut model.mode {
        Mode::Help(line) => {
            *line = line.saturating_add_signed(notches as isize);
        }
        Mode::Walk => stand_on_line(model, i64::from(notches) * 3, effects),
        _ => {}
    }
}

fn clicked(model: &mut Model, x: u16, y: u16, effects: &mut Vec<Effect>) {
    model.message = None;
    if model.mode != Mode::Walk {
        model.mode = Mode::Walk;
        return;
    }
    let areas = areas(model);
    let at = ratatui::layout::Position { x, y };
    if areas.rows.contains(at) {
        let line = top_line(model, areas.rows.height) + usize::from(y - areas.rows.y);
        let step = model.lines.get(line).copied().unwrap_or(model.loaded().len());
        stand(model, step, effects);
    } else if areas.choices.contains(at) {
        let place = usize::from(y - areas.choices.y);
        if let Some(place) = place.checked_sub(1).filter(|&place| place < model.standing.len()) {
            pick(model, place, effects);
        }
    } else if areas.pane.contains(at) && y == areas.pane.y {
        act(model, Action::NextPane, effects);
    }
}
