//! What may follow each step of a failing schedule: the share of the schedules that fails. Counted
//! and sampled shares have different signs and different words.

use crate::report::style::{Role, Style};
use crate::report::text::count;
use crate::report::verdict::no_return;
use replay_core::runner::{Forecast, Prospect};

/// Eighths of all schedules, counted. The full block is only for all of them.
const COUNTED: [&str; 9] = ["·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const COUNTED_ASCII: [&str; 9] = [".", "1", "2", "3", "4", "5", "6", "7", "8"];
/// Thirds of a sample.
const SAMPLED: [&str; 4] = ["∙", "░", "▒", "▓"];
const SAMPLED_ASCII: [&str; 4] = ["'", "-", "=", "%"];

/// The sign of a share.
#[must_use]
pub fn sign(prospect: Prospect, ascii: bool) -> &'static str {
    let Prospect { executions, failing, complete } = prospect;
    let executions = executions.max(1);
    if complete {
        let level = (failing * 8).div_ceil(executions).min(8);
        let level = if failing < executions { level.min(7) } else { level };
        let signs = if ascii { COUNTED_ASCII } else { COUNTED };
        return signs[level as usize];
    }
    let signs = if ascii { SAMPLED_ASCII } else { SAMPLED };
    signs[(failing * 3).div_ceil(executions).min(3) as usize]
}

/// The share in words: exact only if all schedules were run.
#[must_use]
pub fn words(prospect: Prospect) -> String {
    let Prospect { executions, failing, complete } = prospect;
    match (complete, executions) {
        (_, 0) => "unknown: no execution ended".to_owned(),
        (true, _) if prospect.is_lost() => "every schedule fails".to_owned(),
        (true, all) => format!("{failing} of {} fail", count(all, "schedule")),
        (false, samples) => {
            format!("about {} % of random walks fail ({samples} samples)", failing * 100 / samples)
        }
    }
}

/// A section about a schedule of `steps` steps: a line for each sequence of steps after which the
/// same may follow, and the point of no return.
#[must_use]
pub fn render(forecast: &Forecast, steps: usize, style: &Style) -> String {
    let mut text = style.paint(Role::Title, "What may follow") + "\n";
    let mut first = 0;
    while first <= steps {
        let known = forecast.after(first);
        let alike = (first..=steps).take_while(|&after| forecast.after(after) == known);
        let last = first + alike.count() - 1;
        let after = match (first, last) {
            (0, 0) => "at the start".to_owned(),
            (0, last) => format!("up to step {last}"),
            (first, last) if first == last => format!("after step {first}"),
            (first, last) => format!("after steps {first} to {last}"),
        };
        let line = match known {
            Some(prospect) => {
                format!("{} {after:<22} {}", sign(prospect, style.ascii), words(prospect))
            }
            None => format!("  {after:<22} unknown: no schedule was run from there"),
        };
        text += &format!("  {line}\n");
        first = last + 1;
    }
    let lost = forecast.no_return.map(|found| no_return(&found, steps)).unwrap_or_default();
    if !lost.is_empty() {
        text += &format!("  {lost}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use replay_core::runner::{NoReturn, Outlook};

    #[test]
    fn counted_and_sampled_shares_look_different_and_full_means_all() {
        let prospect = |failing, complete| Prospect { executions: 1000, failing, complete };
        for ascii in [false, true] {
            let mut seen = Vec::new();
            for complete in [true, false] {
                for failing in [0, 1, 400, 999, 1000] {
                    seen.push(sign(prospect(failing, complete), ascii));
                }
            }
            let (counted, sampled) = seen.split_at(5);
            assert!(counted.iter().all(|sign| !sampled.contains(sign)), "{seen:?}");
            let full = counted[4];
            assert_eq!(seen.iter().filter(|sign| **sign == full).count(), 1, "{seen:?}");
        }
    }

    #[test]
    fn steps_after_which_the_same_may_follow_share_a_line() {
        let mut forecast = Forecast::default();
        let counted = |failing| Prospect { executions: 69, failing, complete: true };
        forecast.add(Outlook::After(0, Prospect { executions: 200, failing: 56, complete: false }));
        for after in 1..4 {
            forecast.add(Outlook::After(after, counted(28)));
        }
        forecast.add(Outlook::After(5, counted(40)));
        let before = Some(counted(40));
        forecast.add(Outlook::NoReturn(NoReturn { lost_after: 6, passes_after: Some(5), before }));
        let style = Style { color: false, ascii: true };
        insta::assert_snapshot!(render(&forecast, 9, &style), @r"
        What may follow
          - at the start           about 28 % of random walks fail (200 samples)
          4 after steps 1 to 3     28 of 69 schedules fail
            after step 4           unknown: no schedule was run from there
          5 after step 5           40 of 69 schedules fail
          8 after steps 6 to 9     every schedule fails
          until step 5, 29 of 69 schedules pass; from step 6 on none
        ");
    }

    #[test]
    fn shares_that_are_not_known_are_named() {
        let prospect = |executions, failing, complete| Prospect { executions, failing, complete };
        assert_eq!(words(prospect(0, 0, false)), "unknown: no execution ended");
        assert_eq!(words(prospect(1, 0, true)), "0 of 1 schedule fail");
        let mut forecast = Forecast::default();
        for after in 0..3 {
            forecast.add(Outlook::After(after, prospect(4, 4, true)));
        }
        let style = Style { color: false, ascii: true };
        let line = "  8 up to step 2           every schedule fails\n";
        assert_eq!(render(&forecast, 2, &style), format!("What may follow\n{line}"));
    }
}
