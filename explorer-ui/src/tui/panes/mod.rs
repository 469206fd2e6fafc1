//! The information panes: source, locks, causes and the like; one at a time on narrow screens, the
//! open ones below each other on wide ones.

mod causes;
mod findings;
mod graph;
pub(in crate::tui) mod id;
mod locks;
mod output;
mod pane;
mod search;
pub(in crate::tui) mod slots;
mod source;
mod source_view;
mod stacks;
mod tree;
mod values;

use crate::report::text::{count, fill, width};
use crate::tui::model::Model;
use crate::tui::render::layout::areas;
use crate::tui::render::paint::{fitted, glyphs, heading, paragraph, put};
use crate::tui::theme::Role;
use crate::walk::inspection::InspectionRequest;
use id::PaneId;
use pane::{Lines, Pane};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::Style;
use ratatui::widgets::Widget;
use slots::{Slot, slots};

/// All panes, in the order of their tabs.
const PANES: &[&dyn Pane] = &[
    &source::Source,
    &locks::Locks,
    &causes::Causes,
    &graph::Graph,
    &values::Values,
    &stacks::Stacks,
    &output::Output,
    &findings::Findings,
    &search::Search,
    &tree::Tree,
];

/// The pane that is shown first.
pub(in crate::tui) const FIRST: PaneId = PaneId("source");
/// The pane that shows the search.
pub(in crate::tui) const SEARCH: PaneId = PaneId("search");
/// The pane that shows watched expressions.
pub(in crate::tui) const VALUES: PaneId = PaneId("values");
/// The panes that are open at first on screens with room for several.
pub(in crate::tui) const OPEN: [PaneId; 3] = [FIRST, PaneId("locks"), VALUES];

/// The names of all panes, in the order of their tabs.
pub(in crate::tui) fn ids() -> impl ExactSizeIterator<Item = PaneId> {
    PANES.iter().map(|pane| pane.id())
}

/// The pane with this name.
pub(in crate::tui) fn find(name: &str) -> Option<PaneId> {
    ids().find(|id| id.0 == name)
}

/// The pane before or after the selected one.
pub(in crate::tui) fn neighbour(model: &Model, forward: bool) -> PaneId {
    let step = if forward { 1 } else { PANES.len() - 1 };
    PANES[(index(model.pane) + step) % PANES.len()].id()
}

/// For each pane: its name, its default keys, what it shows.
pub(in crate::tui) fn described()
-> impl Iterator<Item = (PaneId, &'static [&'static str], &'static str)> {
    PANES.iter().map(|pane| (pane.id(), pane.keys(), pane.help()))
}

fn index(id: PaneId) -> usize {
    PANES.iter().position(|pane| pane.id() == id).unwrap_or(0)
}

fn named(id: PaneId) -> &'static dyn Pane {
    PANES[index(id)]
}

/// The stacks or values of the target that the displayed panes need. One request serves all of
/// them: a request for values is also one for the stacks at the same step.
pub(in crate::tui) fn inspection(model: &Model) -> Option<InspectionRequest> {
    let wanted = slots(model).into_iter().filter_map(|slot| named(slot.pane).inspection(model));
    wanted.max_by_key(|request| request.expressions.len())
}

pub(in crate::tui) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) {
    if area.height < 2 {
        return;
    }
    draw_tabs(model, buffer, area);
    for slot in slots(model) {
        draw_slot(model, buffer, &slot);
    }
}

fn draw_slot(model: &Model, buffer: &mut Buffer, slot: &Slot) {
    let lines = laid_out(model, slot.pane, slot.contents);
    let height = usize::from(slot.contents.height);
    // The contents may have become shorter since the pane was scrolled.
    let selected = slot.pane == model.pane;
    let top = model.pane_tops.get(&slot.pane).copied().unwrap_or(0);
    let top = top.min(lines.len().saturating_sub(height));
    let below = lines.len().saturating_sub(top + height);
    if slot.heading.height > 0 {
        let more = if below > 0 {
            format!("{} below", count(below as u64, "line"))
        } else {
            String::new()
        };
        let role = if selected { Role::Title } else { Role::Dim };
        heading(model, buffer, slot.heading, slot.pane.0, role, &more);
    }
    paragraph(lines.into_iter().skip(top).take(height)).render(slot.contents, buffer);
}

/// The displayed pane at a position.
pub(in crate::tui) fn at(model: &Model, at: Position) -> Option<PaneId> {
    let on = |slot: &Slot| slot.heading.contains(at) || slot.contents.contains(at);
    slots(model).into_iter().find(on).map(|slot| slot.pane)
}

/// Columns of a tab besides its name: brackets around the selected one, spaces around others.
const TAB_FRAME: usize = 2;
/// Columns of the sign for more tabs on a side.
const MORE: usize = 1;

/// The tabs that fit, as a page of the list of all tabs: each tab keeps its place while the
/// selection moves within the page.
struct Tabs {
    first: usize,
    end: usize,
}

impl Tabs {
    fn of(model: &Model, columns: usize) -> Tabs {
        let selected = index(model.pane);
        // A column of border on each side.
        let room = columns.saturating_sub(2 + 2 * MORE);
        let mut first = 0;
        loop {
            let mut used = 0;
            let fitting = PANES[first..].iter().take_while(|pane| {
                used += pane.id().0.len() + TAB_FRAME;
                used <= room
            });
            let end = first + fitting.count().max(1);
            if selected < end {
                return Tabs { first, end };
            }
            first = end;
        }
    }

    /// The column of the first tab.
    fn start(&self) -> usize {
        if self.first > 0 { 1 + MORE } else { 1 }
    }
}

fn draw_tabs(model: &Model, buffer: &mut Buffer, area: Rect) {
    let tabs = Tabs::of(model, usize::from(area.width));
    let border = model.theme.style(Role::Border);
    let notice = model.theme.style(Role::Notice);
    let (line, left, right) = if model.ascii { ("-", "<", ">") } else { ("─", "‹", "›") };
    let mut pieces = vec![(line.to_owned(), border)];
    if tabs.first > 0 {
        pieces.push((left.to_owned(), notice));
    }
    for pane in &PANES[tabs.first..tabs.end] {
        let name = pane.id().0;
        pieces.push(match pane.id() == model.pane {
            true => (format!("[{name}]"), model.theme.style(Role::Title)),
            false => (format!(" {name} "), model.theme.style(Role::Dim)),
        });
    }
    if tabs.end < PANES.len() {
        pieces.push((right.to_owned(), notice));
    }
    let used: usize = pieces.iter().map(|(text, _)| width(text)).sum();
    pieces.push((line.repeat(usize::from(area.width).saturating_sub(used)), border));
    put(buffer, area, 0, pieces);
}

/// The pane whose tab is at a column of the heading; the signs for more tabs turn the page.
pub(in crate::tui) fn tab_at(model: &Model, column: u16) -> Option<PaneId> {
    let tabs = Tabs::of(model, usize::from(areas(model).pane.width));
    let column = usize::from(column);
    let mut at = tabs.start();
    if tabs.first > 0 && column < at {
        return Some(PANES[tabs.first - 1].id());
    }
    for pane in &PANES[tabs.first..tabs.end] {
        at += pane.id().0.len() + TAB_FRAME;
        if column >= tabs.start() && column < at {
            return Some(pane.id());
        }
    }
    PANES.get(tabs.end).filter(|_| column == at).map(|pane| pane.id())
}

fn laid_out(model: &Model, id: PaneId, inner: Rect) -> Lines {
    let pane = named(id);
    let lines = pane.lines(model, inner.as_size());
    let cells = usize::from(inner.width);
    if pane.wraps() {
        return wrapped(lines, cells);
    }
    let cut = glyphs(model).cut;
    let is_long = |line: &[(String, Style)]| {
        let text: String = line.iter().map(|(text, _)| text.as_str()).collect();
        width(text.trim_end()) > cells
    };
    let fit = |line: Vec<_>| if is_long(&line) { fitted(line, cells, cut) } else { line };
    lines.into_iter().map(fit).collect()
}

/// Whether a pane is displayed.
pub(in crate::tui) fn is_displayed(model: &Model, pane: PaneId) -> bool {
    slots(model).iter().any(|slot| slot.pane == pane)
}

/// By how many lines a pane can be scrolled.
pub(in crate::tui) fn hidden_lines(model: &Model, pane: PaneId) -> usize {
    let slot = slots(model).into_iter().find(|slot| slot.pane == pane);
    slot.map_or(0, |slot| {
        let lines = laid_out(model, slot.pane, slot.contents).len();
        lines.saturating_sub(usize::from(slot.contents.height))
    })
}

/// Wraps lines at spaces, with a hanging indent.
fn wrapped(lines: Lines, cells: usize) -> Lines {
    const INDENT: usize = 4;
    let mut all = Lines::new();
    for pieces in lines {
        let (mut line, mut used): (Vec<(String, Style)>, usize) = (Vec::new(), 0);
        for (text, style) in pieces {
            for word in text.split_inclusive(' ') {
                if used + width(word.trim_end()) > cells && used > INDENT {
                    all.push(std::mem::take(&mut line));
                    line.push((fill(0, INDENT), style));
                    used = INDENT;
                }
                used += width(word);
                line.push((word.to_owned(), style));
            }
        }
        all.push(line);
    }
    all
}

/// The whole contents of the selected pane as text.
pub(in crate::tui) fn text(model: &Model) -> String {
    let area = areas(model).pane;
    let room = Size { width: area.width, height: area.height.saturating_sub(1).max(20) };
    let line = |pieces: Vec<(String, Style)>| {
        let text: String = pieces.into_iter().map(|(text, _)| text).collect();
        text.trim_end().to_owned() + "\n"
    };
    named(model.pane).lines(model, room).into_iter().map(line).collect()
}
