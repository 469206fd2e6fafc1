//! Everything that can be done, in one table: keys, help, palette and documentation come from here,
//! so that none of them can be stale.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::collections::HashMap;

macro_rules! actions {
    ($($group:literal { $($variant:ident $name:literal [$($key:literal)*] $what:literal;)* })*) => {
        /// Something that a person can do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action { $($(#[doc = $what] $variant,)*)* }

        /// All of them, in the order in which help shows them.
        pub const ACTIONS: &[Described] = &[
            $($(Described {
                action: Action::$variant, group: $group, name: $name, keys: &[$($key,)*],
                what: $what,
            },)*)*
        ];
    };
}

/// What is known of an action.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// Which.
    pub action: Action,
    /// Under which heading it stands.
    pub group: &'static str,
    /// Its name in the palette and in the file of keys.
    pub name: &'static str,
    /// Its keys where the user names no others.
    pub keys: &'static [&'static str],
    /// What it does.
    pub what: &'static str,
}

actions! {
    "Walk" {
        Forward "forward" ["j" "down" "right" "space" "f10"] "one step forward";
        Back "back" ["k" "up" "left" "backspace"] "one step back";
        PageForward "page-forward" ["pagedown" "ctrl-d"] "a screen forward";
        PageBack "page-back" ["pageup" "ctrl-u"] "a screen back";
        First "first" ["g" "home"] "to the start";
        Last "last" ["G" "end" "f5"] "to the end: the failure, if there is one";
        NextPreemption "next-preemption" ["]"] "to the next preemption";
        PreviousPreemption "previous-preemption" ["["] "to the preemption before";
        NextSwitch "next-switch" ["}"] "to the next switch";
        PreviousSwitch "previous-switch" ["{"] "to the switch before";
        UntilPreempted "until-preempted" ["p"] "on until the task that moves here is preempted";
        UntilBlocked "until-blocked" ["b"] "on until the task that moves here has to wait";
        UntilObject "until-object" ["i"] "on until an object is touched, by its name";
        UntilLine "until-line" ["l"] "on until a line of the source is come to: 41, or queue.c:41";
        NextOnObject "next-on-object" ["o"] "to the next step on the same object";
        PreviousOnObject "previous-on-object" ["O"] "to the step before on the same object";
        NextOfTask "next-of-task" ["."] "to the next step of the same task";
        PreviousOfTask "previous-of-task" [","] "to the step before of the same task";
        NextEffect "next-effect" [">"] "to the first step of another task that follows from this one";
        PreviousCause "previous-cause" ["<"] "to the last step of another task that this one follows from";
        NextChoice "next-choice" ["J"] "to the next step where another task could have moved";
        PreviousChoice "previous-choice" ["K"] "to the step before where another task could have moved";
        NextChange "next-change" [")"] "to the next step that changes a watched expression";
        PreviousChange "previous-change" ["("] "to the step before that changed a watched expression";
        NextBookmark "next-bookmark" ["'"] "to the next bookmark or note";
        PreviousBookmark "previous-bookmark" ["\""] "to the bookmark or note before";
        Returned "return" ["ctrl-o"] "back to where one was before the last jump";
        Departed "return-again" ["alt-o"] "forward again, to where one came back from";
        GoTo "go-to" ["#"] "to a step by its number";
        Search "search" ["/"] "to the next row that holds a text, or a place like queue.c:41";
        SearchBack "search-back" ["\\"] "to the row before that holds a text";
        NextMatch "next-match" ["alt-n"] "to the next row that holds the text that was looked for";
        PreviousMatch "previous-match" ["alt-p"] "to the row before that holds it";
    }
    "Choose" {
        Pick1 "pick-1" ["1"] "the first task in the list moves";
        Pick2 "pick-2" ["2"] "the second";
        Pick3 "pick-3" ["3"] "the third";
        Pick4 "pick-4" ["4"] "the fourth";
        Pick5 "pick-5" ["5"] "the fifth";
        Pick6 "pick-6" ["6"] "the sixth";
        Pick7 "pick-7" ["7"] "the seventh";
        Pick8 "pick-8" ["8"] "the eighth";
        Pick9 "pick-9" ["9"] "the ninth";
        PickTask "pick-task" ["P"] "any task moves, by its number or its name";
        OtherData "other-data" ["d"] "another way for the step before: who is woken, whether time is up";
        BestMove "best-move" ["n"] "the move that is nearest to a failure";
        ShowMe "show-me" ["N"] "the whole way to the nearest failure";
        Undo "undo" ["u"] "back to the schedule before the last choice";
        Redo "redo" ["U"] "take the choice again";
        Original "original" ["0"] "back to the schedule that this began with";
    }
    "Search" {
        HandOver "hand-over" ["h"] "let a strategy search from here: which, and within what bound";
        Stop "stop" ["S" "esc"] "stop the search, or what is being waited for";
        NextFound "next-found" ["f"] "show the next failure that the search found";
        PreviousFound "previous-found" ["F"] "show the failure before";
    }
    "Look" {
        NextPane "next-pane" ["tab"] "the next pane: source, locks, causes, values, stacks, ...";
        PreviousPane "previous-pane" ["backtab"] "the pane before";
        PaneDown "pane-down" ["alt-j" "alt-down"] "the pane a line further";
        PaneUp "pane-up" ["alt-k" "alt-up"] "the pane a line back";
        Zoom "zoom" ["Z"] "give the pane the whole screen, or take it back";
        Watch "watch" ["W"] "watch the object of the selected step in the pane of values, or no more";
        WatchExpression "watch-expression" ["E"] "watch an expression of the program: q->len, account->balance";
        Fold "fold" ["z"] "fold or unfold runs that no other task can notice";
        FoldMore "fold-more" ["alt-z"] "fold more: accesses to memory, too, then all but switches";
        HideTask "hide-task" ["-"] "hide the task of the selected step";
        HideOthers "hide-others" ["_"] "hide all tasks but that of the selected step and pinned ones";
        ShowTasks "show-tasks" ["+"] "show the hidden tasks again";
        PinTask "pin-task" ["="] "keep the column of the selected step's task, or no more";
        Lanes "lanes" ["A"] "the whole schedule at a glance, a lane for each task, or no more";
        Wider "wider" ["alt-right" "alt-l"] "the schedule wider; the mouse drags the lines between panes, too";
        Narrower "narrower" ["alt-left" "alt-h"] "the schedule narrower";
        Enabled "enabled" ["e"] "show or hide who could have moved at each step";
        NextTheme "theme" ["t"] "the next theme: dark, light, contrast, 16 colours, plain";
        Ascii "ascii" ["a"] "signs of ASCII only, or all";
        Mouse "mouse" ["v"] "leave the mouse to the terminal, to mark text, or take it back";
        Tour "tour" ["T"] "a tour for who is new here";
        Help "help" ["?" "f1"] "this list";
        Palette "palette" [":" "ctrl-p"] "everything that can be done, by name";
    }
    "Keep" {
        Shrink "shrink" ["s"] "the smallest schedule that fails in the same way";
        Explain "explain" ["x"] "why it fails, on a page: what decides, the nearest schedule that passes";
        Compare "compare" ["c"] "beside the nearest schedule that passes, or the one this began with";
        CompareBefore "compare-before" ["B"] "beside the schedule before: unshrunk, or without the last choice";
        Bookmark "bookmark" ["m" "f9"] "set a bookmark on this step, or take it away";
        Note "note" ["M"] "write a note on this step; kept in a file beside the trace";
        Save "save" ["w"] "write this schedule to a trace file";
        Copy "copy" ["y"] "copy the selected step as text";
        CopySchedule "copy-schedule" ["Y"] "copy the whole schedule as text";
        CopyPane "copy-pane" ["C"] "copy what the pane shows as text";
        Debugger "debugger" ["D"] "gdb on this very position; comes back here when it ends";
        Lldb "lldb" ["L"] "lldb on this very position; comes back here when it ends";
        Split "split" ["V"] "gdb on this very position beside the explorer, in a split of tmux";
        Redraw "redraw" ["ctrl-l"] "draw the screen anew";
        Suspend "suspend" ["ctrl-z"] "back to the shell for a while";
        Quit "quit" ["q" "ctrl-c"] "leave";
    }
}

impl Action {
    /// Which place in the list of tasks it picks.
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

/// Which key does what.
#[derive(Debug, Clone)]
pub struct Keys(HashMap<String, Action>);

impl Default for Keys {
    fn default() -> Keys {
        let pairs =
            ACTIONS.iter().flat_map(|one| one.keys.iter().map(|&k| (k.to_owned(), one.action)));
        Keys(pairs.collect())
    }
}

impl Keys {
    /// The action of a key, by the key's name.
    #[must_use]
    pub fn action(&self, key: &str) -> Option<Action> {
        self.0.get(key).copied()
    }

    /// Gives an action these keys and no others. `ctrl-c` leaves in any case.
    pub fn set(&mut self, action: Action, keys: &[String]) {
        self.0.retain(|key, other| *other != action || action == Action::Quit && key == "ctrl-c");
        self.0.extend(keys.iter().map(|key| (key.clone(), action)));
    }

    /// The keys of an action, in order.
    #[must_use]
    pub fn of(&self, action: Action) -> Vec<&str> {
        let described = ACTIONS.iter().find(|one| one.action == action);
        let usual = described.map_or(&[][..], |one| one.keys);
        let mut keys: Vec<&str> =
            self.0.iter().filter(|(_, a)| **a == action).map(|(key, _)| key.as_str()).collect();
        let place = |key: &str| usual.iter().position(|usual| *usual == key).unwrap_or(usize::MAX);
        keys.sort_by_key(|key| (place(key), *key));
        keys
    }
}

/// The actions whose name or description holds the letters of `typed` in order, best first.
#[must_use]
pub fn matching(typed: &str) -> Vec<&'static Described> {
    // As people know it from editors: letters in order, better where they begin words.
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buffer = Vec::new();
    let mut score = |text: &str| pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher);
    let mut found: Vec<((bool, u32), &Described)> = ACTIONS
        .iter()
        .filter_map(|one| {
            let by_name = score(one.name).map(|score| (true, score));
            let by_text = score(one.what).map(|score| (false, score));
            by_name.or(by_text).map(|score| (score, one))
        })
        .collect();
    found.sort_by_key(|&(score, _)| std::cmp::Reverse(score));
    found.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_key_and_no_name_stands_twice() {
        let mut keys = HashSet::new();
        let mut names = HashSet::new();
        for one in ACTIONS {
            assert!(names.insert(one.name), "{}", one.name);
            for key in one.keys {
                assert!(keys.insert(*key), "{key}");
            }
        }
    }

    #[test]
    fn the_palette_finds_by_letters_in_order() {
        assert_eq!(matching("npre")[0].name, "next-preemption");
        assert_eq!(matching("save")[0].name, "save");
        assert_eq!(matching("").len(), ACTIONS.len());
        assert!(matching("qqqq").is_empty());
    }

    #[test]
    fn other_keys_replace_the_usual_ones() {
        let mut keys = Keys::default();
        keys.set(Action::Forward, &["x".to_owned()]);
        assert_eq!(keys.action("x"), Some(Action::Forward));
        assert_eq!(keys.action("j"), None);
        keys.set(Action::Quit, &[]);
        assert_eq!(keys.of(Action::Quit), ["ctrl-c"]);
        assert_eq!(keys.of(Action::Back), ["k", "up", "left", "backspace"]);
    }
}
