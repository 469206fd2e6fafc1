//! A walk through the explorer for somebody who is new to it: each page is over when what it says was
//! done.

use super::action::Action;

/// A page of the tour.
#[derive(Debug)]
pub struct Page {
    /// What it says.
    pub text: &'static str,
    /// Any of these goes on to the next page.
    pub until: &'static [Action],
}

/// All pages, in order.
pub const PAGES: &[Page] = &[
    Page {
        text: "On the left is one run of the program: time goes down, a column for each task, a row \
               for each step. The marked row is what happens next. Walk down and up with the arrows.",
        until: &[Action::Forward, Action::Back, Action::PageForward, Action::PageBack],
    },
    Page {
        text: "On the right are all tasks with what each would do next, and what lies ahead if it \
               does: how many runs from there fail. N plays the whole way to the nearest failure.",
        until: &[Action::ShowMe, Action::BestMove],
    },
    Page {
        text: "The top line says what failed. A red sign beside a step is a preemption: another task \
               took over there. The key [ goes to the one before.",
        until: &[Action::PreviousPreemption],
    },
    Page {
        text: "Here a digit lets another task move instead; the rest is run again at once, and the \
               last line says whether it still fails. Try one.",
        until: &[Action::Pick1, Action::Pick2, Action::Pick3],
    },
    Page { text: "u takes that back.", until: &[Action::Undo] },
    Page {
        text: "tab turns to the next pane: source, locks, causes, values, stacks, output, findings, \
               the search and its tree.",
        until: &[Action::NextPane, Action::PreviousPane],
    },
    Page {
        text: "h hands over to a search from here, x explains a failure on a page, D opens gdb, ? \
               lists every key and : finds them by name. The tour ends with the next key.",
        until: &[],
    },
];
