//! The data choices of a step, explored depth first: for each, the outcome that was taken and the
//! number of outcomes.

/// The data choices of one step, in the order in which it makes them.
pub(crate) type Data = Vec<(u32, u32)>;

/// Answers the `asked`-th data choice of the step, which has `of` outcomes. Also returns whether it
/// had as many outcomes when it was made before.
pub(crate) fn answer(data: &mut Data, asked: usize, of: u32) -> (u32, bool) {
    if asked == data.len() {
        data.push((0, of));
    }
    let (taken, before) = data[asked];
    (taken.min(of - 1), before == of)
}

/// Advances to the next untried outcome, last choice first; false if there is none.
pub(crate) fn advance(data: &mut Data) -> bool {
    while let Some((taken, of)) = data.last_mut() {
        *taken += 1;
        if *taken < *of {
            return true;
        }
        data.pop();
    }
    false
}

/// The number of untried outcomes.
pub(crate) fn untried(data: &Data) -> u64 {
    data.iter().map(|&(taken, of)| u64::from(of - taken - 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_taken_once() {
        let mut data = Data::new();
        let mut seen = Vec::new();
        loop {
            // The second data choice is made only after the last outcome of the first.
            let (first, same) = answer(&mut data, 0, 3);
            assert!(same);
            let second = (first == 2).then(|| answer(&mut data, 1, 2).0);
            seen.push((first, second));
            let left = untried(&data);
            if !advance(&mut data) {
                assert_eq!(left, 0);
                break;
            }
        }
        assert_eq!(seen, [(0, None), (1, None), (2, Some(0)), (2, Some(1))]);
        assert_eq!(answer(&mut vec![(2, 3)], 0, 2), (1, false));
    }
}
