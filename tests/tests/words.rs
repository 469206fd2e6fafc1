//! The project is written in the field's words.

use std::collections::BTreeSet;
use tests::style::repository;
use tests::style::words::{Words, counts, limits, part};

#[test]
fn banned_phrases_and_names_do_not_increase() {
    let root = repository();
    let hits = Words::read(&root).hits(&root);
    let (counts, limits) = (counts(&hits), limits(&root));
    let mut wrong = String::new();
    for name in counts.keys().chain(limits.keys()).collect::<BTreeSet<_>>() {
        let count = counts.get(name).copied().unwrap_or(0);
        let limit = limits.get(name).copied().unwrap_or(0);
        if count > limit {
            wrong += &format!("{name}: {count} banned phrases and names, {limit} may remain\n");
            let new = hits.iter().filter(|hit| part(&hit.file) == *name);
            wrong.extend(new.map(|hit| format!("  {hit}\n")));
        } else if count < limit {
            wrong += &format!("{name}: {count} of {limit} are left: lower the limit\n");
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong}`cargo run -p tests --example words` lists all, `-- --lower` lowers the limits"
    );
}
