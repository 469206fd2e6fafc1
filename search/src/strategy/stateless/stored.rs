//! How beginnings are stored: those next to each other have most of their steps in common, and each is
//! stored as what it adds.

use super::start::{Given, Purpose, Start};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use traces::compact::Unreadable;

/// The number of steps in common with the beginning before it, its other steps, its purpose.
type Added<Steps> = (usize, Steps, Purpose);

pub(super) fn serialize<S: Serializer>(open: &[Start], to: S) -> Result<S::Ok, S::Error> {
    let mut before: &[Given] = &[];
    let mut added: Vec<Added<&[Given]>> = Vec::with_capacity(open.len());
    for Start { steps, purpose } in open {
        let same = steps.iter().zip(before).take_while(|(one, other)| one == other).count();
        added.push((same, &steps[same..], *purpose));
        before = steps;
    }
    added.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Start>, D::Error> {
    let added: Vec<Added<Vec<Given>>> = Vec::deserialize(from)?;
    let mut open: Vec<Start> = Vec::with_capacity(added.len());
    for (same, rest, purpose) in added {
        let before = open.last().map_or(&[][..], |start| &start.steps);
        let common = before.get(..same);
        let common = common.ok_or_else(|| D::Error::custom(Unreadable))?;
        open.push(Start { steps: [common, &rest].concat(), purpose });
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::compact;

    #[test]
    fn a_beginning_that_continues_more_than_there_is_is_refused() {
        #[derive(Debug, Deserialize)]
        struct Stored(#[serde(deserialize_with = "deserialize")] Vec<Start>);
        let of = |same: usize| compact::encode(&vec![(same, Vec::<Given>::new(), Purpose::Any)]);
        let Stored(whole) = compact::decode(&of(0)).expect("an empty beginning");
        assert_eq!(whole, [Start::default()]);
        assert!(compact::decode::<Stored>(&of(1)).is_err());
    }
}
