//! Lists of objects.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Any number of objects, of which the first `FEW` need no separate allocation. No object is 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<u64>", from = "Vec<u64>")]
pub struct Objects<const FEW: usize> {
    few: [u64; FEW],
    more: Option<Arc<Vec<u64>>>,
}

impl<const FEW: usize> Objects<FEW> {
    /// No objects.
    pub const NONE: Objects<FEW> = Objects { few: [0; FEW], more: None };

    /// The objects.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let few = self.few.iter().copied().take_while(|&object| object != 0);
        few.chain(self.more.iter().flat_map(|more| more.iter().copied()))
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.few.first().is_none_or(|&first| first == 0) && self.more.is_none()
    }
}

impl<const FEW: usize> FromIterator<u64> for Objects<FEW> {
    fn from_iter<I: IntoIterator<Item = u64>>(objects: I) -> Self {
        let mut all = Objects::NONE;
        let mut objects = objects.into_iter().filter(|&object| object != 0);
        for (to, object) in all.few.iter_mut().zip(&mut objects) {
            *to = object;
        }
        if let Some(next) = objects.next() {
            all.more = Some(Arc::new([next].into_iter().chain(objects).collect()));
        }
        all
    }
}

impl<const FEW: usize> From<Objects<FEW>> for Vec<u64> {
    fn from(objects: Objects<FEW>) -> Vec<u64> {
        objects.iter().collect()
    }
}

impl<const FEW: usize> From<Vec<u64>> for Objects<FEW> {
    fn from(objects: Vec<u64>) -> Objects<FEW> {
        objects.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_objects_are_listed_in_order() {
        for count in 0..9 {
            let all: Vec<u64> = (1..=count).collect();
            let objects: Objects<3> = all.iter().copied().collect();
            assert_eq!(objects.iter().collect::<Vec<u64>>(), all);
            assert_eq!(objects.is_empty(), count == 0);
            assert_eq!(Objects::from(Vec::from(objects.clone())), objects);
        }
    }
}
