//! The tour for new users. A page turns when the user has done what it asks for.

use crate::tui::keys::actions::Action;

/// A page of the tour.
#[derive(Debug)]
pub struct Page {
    /// The text.
    pub text: &'static str,
    /// The actions that turn the page; none on the last one.
    pub until: &'static [Action],
}

/// All pages, in order.
pub const PAGES: &[Page] = &[
    Page {
        text: "On the left is one execution of the program: time runs down, a column for each \
               task, a row for each step. The selected row is executed next. Move with the arrow \
               keys.",
        until: &[Action::Forward, Action::Back, Action::PageForward, Action::PageBack],
    },
    Page {
        text: "On the right is the next step of each task and its look-ahead: how many executions \
               fail if that task runs next. N runs the whole schedule to the nearest failure.",
        until: &[Action::ShowMe],
    },
    Page {
        text: "The top line says what failed. A red sign beside a step marks a preemption: the \
               task of the step before could have continued, and the scheduler switched to another \
               task. Press [ to select the last preemption before this step.",
        until: &[Action::PreviousPreemption],
    },
    Page {
        text: "Here a digit runs another task instead. The rest is executed again at once, and the \
               last line says whether it still fails. Try one.",
        until: &[
            Action::Pick1,
            Action::Pick2,
            Action::Pick3,
            Action::Pick4,
            Action::Pick5,
            Action::Pick6,
            Action::Pick7,
            Action::Pick8,
            Action::Pick9,
        ],
    },
    Page { text: "u undoes that.", until: &[Action::Undo] },
    Page {
        text: "tab shows the next pane: source, locks, causes, graph, values, stacks, output, \
               findings, search and tree.",
        until: &[Action::NextPane, Action::PreviousPane],
    },
    Page {
        text: "h starts a search from here, x explains a failure, D opens gdb, ? lists all keys, and \
               : finds commands by name. The tour ends with the next key.",
        until: &[],
    },
];
