//! The table of actions. Key bindings, help, palette and `heddle ui --keys` are generated from it.

use crate::tui::panes::id::PaneId;

macro_rules! actions {
    ($($group:literal { $($variant:ident $name:literal [$($key:literal)*] $what:literal;)* })*) => {
        /// A command of the user.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[doc = $what] $variant,)*)*
            /// Shows a pane.
            ShowPane(PaneId),
        }

        /// All actions except those of the panes, in the order of the help.
        pub const ACTIONS: &[Described] = &[
            $($(Described {
                action: Action::$variant, group: $group, name: $name, keys: &[$($key,)*],
                what: $what,
            },)*)*
        ];
    };
}

/// An action with its names.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// The action.
    pub action: Action,
    /// The heading in the help.
    pub group: &'static str,
    /// The name in the palette and in `ui.toml`.
    pub name: &'static str,
    /// The default keys.
    pub keys: &'static [&'static str],
    /// The description of the action in the help, on one line.
    pub what: &'static str,
}

actions! {
    "Navigate" {
        Forward "forward" ["j" "down" "right" "space" "f10"] "one step forward";
        Back "back" ["k" "up" "left" "backspace"] "one step back";
        PageForward "page-forward" ["pagedown" "ctrl-d"] "a page forward";
        PageBack "page-back" ["pageup" "ctrl-u"] "a page back";
        First "first" ["g" "home"] "to the first step";
        Last "last" ["G" "end" "f5"] "to the end: the failure, if there is one";
        Decisive "decisive" ["!"] "to the step that decides that this schedule fails";
        NoReturn "no-return" ["^"] "to the step after which no schedule passes";
        NextPreemption "next-preemption" ["]"] "to the next preemption";
        PreviousPreemption "previous-preemption" ["["] "to the previous preemption";
        NextSwitch "next-switch" ["}"] "to the next context switch";
        PreviousSwitch "previous-switch" ["{"] "to the previous context switch";
        UntilPreempted "until-preempted" ["p"] "to the step at which this task is preempted";
        UntilBlocked "until-blocked" ["b"] "to the step at which this task becomes blocked";
        UntilObject "until-object" ["i"] "to the next step on an object, by its name";
        UntilLine "until-line" ["l"] "to the next step at a source line: 41, or queue.c:41";
        NextOnObject "next-on-object" ["o"] "to the next step on the same object";
        PreviousOnObject "previous-on-object" ["O"] "to the previous step on the same object";
        NextOfTask "next-of-task" ["."] "to the next step of the same task";
        PreviousOfTask "previous-of-task" [","] "to the previous step of the same task";
        NextEffect "next-effect" [">"] "to the first direct successor in another task (happens-before)";
        PreviousCause "previous-cause" ["<"] "to the last direct predecessor in another task";
        NextChoice "next-choice" ["J"] "to the next step at which other tasks are enabled";
        PreviousChoice "previous-choice" ["K"] "to the previous step at which other tasks are enabled";
        NextChange "next-change" [")"] "to the next change of a watched expression";
        PreviousChange "previous-change" ["("] "to the previous change of a watched expression";
        NextBookmark "next-bookmark" ["'"] "to the next bookmark or note";
        PreviousBookmark "previous-bookmark" ["\""] "to the previous bookmark or note";
        JumpBack "return" ["ctrl-o"] "back to the position before the last jump";
        JumpForward "return-again" ["alt-o"] "forward again in the list of jumps";
        GoTo "go-to" ["#"] "to a step by its number";
        Search "search" ["/"] "find rows: t:2 o:queue w, queue.c:41, or any text in them";
        SearchBack "search-back" ["\\"] "find rows backwards";
        NextMatch "next-match" ["alt-n"] "to the next row that was found";
        PreviousMatch "previous-match" ["alt-p"] "to the previous row that was found";
    }
    "Choose" {
        Pick1 "pick-1" ["1"] "run the first task in the list next";
        Pick2 "pick-2" ["2"] "run the second task";
        Pick3 "pick-3" ["3"] "run the third task";
        Pick4 "pick-4" ["4"] "run the fourth task";
        Pick5 "pick-5" ["5"] "run the fifth task";
        Pick6 "pick-6" ["6"] "run the sixth task";
        Pick7 "pick-7" ["7"] "run the seventh task";
        Pick8 "pick-8" ["8"] "run the eighth task";
        Pick9 "pick-9" ["9"] "run the ninth task";
        PickTask "pick-task" ["P"] "run any task next, by its number or name";
        OtherData "other-data" ["d"] "another outcome of the previous step: which waiter wakes, a timeout";
        BestMove "best-move" ["n"] "run the task that is nearest to a failure";
        ShowMe "show-me" ["N"] "run the whole schedule to the nearest failure";
        Undo "undo" ["u"] "back to the schedule before the last choice";
        Redo "redo" ["U"] "redo the choice";
        Original "original" ["0"] "back to the schedule that was opened";
        RestoreEdited "restore-edited" ["R"] "restore the edited schedule of the last session";
    }
    "Search" {
        HandOver "hand-over" ["h"] "start a search from this step: choose strategy and bound";
        MakeHappen "make-happen" ["@"] "search a schedule in which tasks are at these lines at once";
        Reverse "reverse" ["r"] "mark this step, then one of another task: run them in the other order";
        Stop "stop" ["S" "esc"] "stop the search, or cancel the running request";
        Resume "resume" ["H"] "continue the search that was stopped";
        NextFound "next-found" ["f"] "show the next failure that the search found";
        PreviousFound "previous-found" ["F"] "show the previous failure";
    }
    "View" {
        NextPane "next-pane" ["tab"] "the next pane";
        PreviousPane "previous-pane" ["backtab"] "the previous pane";
        KeepPane "keep-pane" ["*"] "keep this pane open beside the others, or not (from 160 columns on)";
        PaneEarlier "pane-earlier" ["alt-,"] "move this pane up among the open ones";
        PaneLater "pane-later" ["alt-."] "move this pane down among the open ones";
        PaneDown "pane-down" ["alt-j" "alt-down"] "scroll the pane down";
        PaneUp "pane-up" ["alt-k" "alt-up"] "scroll the pane up";
        Zoom "zoom" ["Z"] "show the pane on the whole screen, or not";
        Watch "watch" ["W"] "watch the object of this step in the values pane, or stop watching it";
        WatchExpression "watch-expression" ["E"] "watch an expression: q->len, account->balance";
        Origin "origin" ["I"] "show where the values of the watched expressions came from";
        Fold "fold" ["z"] "fold or unfold library calls, spins, silent steps";
        FoldMore "fold-more" ["alt-z"] "fold memory accesses too, then everything between switches";
        Filter "filter" ["&"] "show only the rows that match: t:2 o:queue w; empty shows all";
        HideTask "hide-task" ["-"] "hide the task of this step";
        HideOthers "hide-others" ["_"] "hide all tasks except this step's and the pinned ones";
        ShowTasks "show-tasks" ["+"] "show all hidden tasks";
        PinTask "pin-task" ["="] "pin or unpin the column of this step's task";
        Lanes "lanes" ["A"] "show or hide the overview: one lane for each task";
        Wider "wider" ["alt-right" "alt-l"] "widen the schedule; the mouse drags borders too";
        Narrower "narrower" ["alt-left" "alt-h"] "narrow the schedule";
        Enabled "enabled" ["e"] "show or hide the enabled tasks of each step";
        NextTheme "theme" ["t"] "the next theme: dark, light, contrast, 16 colours, plain";
        Ascii "ascii" ["a"] "ASCII characters only, or all";
        Mouse "mouse" ["v"] "leave the mouse to the terminal, to select text, or take it back";
        Tour "tour" ["T"] "a tour for new users";
        Help "help" ["?" "f1"] "this list";
        Palette "palette" [":" "ctrl-p"] "find a command by its name";
    }
    "Tools" {
        Shrink "shrink" ["s"] "shrink to the smallest schedule with the same failure";
        Explain "explain" ["x"] "explain the failure: decisive orders, nearest passing schedule";
        Compare "compare" ["c"] "diff against the nearest passing schedule, or the one opened";
        CompareBefore "compare-before" ["B"] "diff against the previous schedule: before shrinking or a choice";
        Bookmark "bookmark" ["m" "f9"] "set or remove a bookmark on this step";
        Note "note" ["M"] "write a note on this step; saved in a file beside the trace";
        Save "save" ["w"] "write this schedule to a trace file";
        Copy "copy" ["y"] "copy this step as text";
        CopySchedule "copy-schedule" ["Y"] "copy the whole schedule as text";
        CopyPane "copy-pane" ["C"] "copy the contents of the pane as text";
        SaveScreen "save-screen" ["X"] "write the screen to files: a picture (SVG) and text";
        Record "record" ["alt-x"] "record the screen (asciicast), or stop recording";
        Debugger "debugger" ["D"] "open gdb at this step; the explorer returns when gdb ends";
        Lldb "lldb" ["L"] "open lldb at this step; the explorer returns when lldb ends";
        Split "split" ["V"] "open gdb at this step in a new tmux pane";
        Redraw "redraw" ["ctrl-l"] "redraw the screen";
        Suspend "suspend" ["ctrl-z"] "suspend the explorer; `fg` resumes it";
        Quit "quit" ["q" "ctrl-c"] "quit";
    }
}

impl Action {
    /// The index in the list of tasks that the action picks.
    #[must_use]
    pub fn pick(self) -> Option<usize> {
        let picks = [
            Action::Pick1,
            Action::Pick2,
            Action::Pick3,
            Action::Pick4,
            Action::Pick5,
            Action::Pick6,
            Action::Pick7,
            Action::Pick8,
            Action::Pick9,
        ];
        picks.iter().position(|&pick| pick == self)
    }
}
