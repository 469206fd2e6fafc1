//! The data choices of a step that is gone through depth first: what was taken, out of how many ways.

/// The data choices of one step, in the order in which it makes them.
pub(crate) type Data = Vec<(u32, u32)>;

/// What is taken as the step's `asked`-th choice, which has so many ways, and whether it had as many when it
/// was made before.
pub(crate) fn answer(data: &mut Data, asked: usize, of: u32) -> (u32, bool) {
    if asked == data.len() {
        data.push((0, of));
    }
    let (taken, before) = data[asked];
    (taken.min(of - 1), before == of)
}

/// Goes to the next way of the last choice that has one; false if there is none.
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

/// How many ways were not tried.
pub(crate) fn untried(data: &Data) -> u64 {
    data.iter().map(|&(taken, of)| u64::from(of - taken - 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_gone_once() {
        let mut data = Data::new();
        let mut seen = Vec::new();
        loop {
            // The second choice is made where the first came to its last way.
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
