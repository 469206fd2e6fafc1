//! The panes that the user keeps open and their order: kept for all traces, in a file beside the
//! sessions.

use super::panes::{self, id::PaneId};
use super::session;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Panes as the user arranged them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrangement {
    /// The names of the open panes, from top to bottom.
    open: Vec<String>,
    /// The panes that `ui.toml` named then: a later change of that file replaces the arrangement.
    configured: Vec<String>,
}

fn names(panes: &[PaneId]) -> Vec<String> {
    panes.iter().map(|pane| pane.0.to_owned()).collect()
}

impl Arrangement {
    /// The panes that are open, where the preferences name others.
    #[must_use]
    pub fn new(open: &[PaneId], configured: &[PaneId]) -> Arrangement {
        Arrangement { open: names(open), configured: names(configured) }
    }

    /// The open panes; none if the preferences have changed since.
    #[must_use]
    pub fn open_panes(&self, configured: &[PaneId]) -> Option<Vec<PaneId>> {
        let unchanged = self.configured == names(configured);
        unchanged.then(|| self.open.iter().filter_map(|name| panes::find(name)).collect())
    }

    /// The contents of the file.
    #[must_use]
    pub fn write(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Parses the file; none if it is malformed.
    #[must_use]
    pub fn read(text: &str) -> Option<Arrangement> {
        toml::from_str(text).ok()
    }
}

/// The file.
#[must_use]
pub fn file() -> Option<PathBuf> {
    Some(session::directory()?.join("panes.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrangement_is_kept_until_the_preferences_change() {
        let configured = panes::OPEN;
        let open = [panes::SEARCH, panes::VALUES];
        let text = Arrangement::new(&open, &configured).write();
        let kept = Arrangement::read(&text).expect("it can be read");
        assert_eq!(kept.open_panes(&configured), Some(open.to_vec()));
        assert_eq!(kept.open_panes(&[panes::VALUES]), None);
        assert_eq!(Arrangement::read("open = 1"), None);
        // A pane of another version is left out.
        let other = text.replace("search", "oracle");
        let other = Arrangement::read(&other).expect("it can be read");
        assert_eq!(other.open_panes(&configured), Some(vec![panes::VALUES]));
    }
}
