//! The accesses of one event.

use super::access::Access;
use std::sync::Arc;

/// How many accesses are stored without a separate allocation.
const FEW: usize = 4;

/// The accesses of an event, any number of them.
///
/// Most events have one or two. If there are more than [`FEW`], all of them are in `many`, ordered by
/// object, so that two events with many objects are compared in a reasonable time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accesses {
    /// The first is the access to the operation's own object.
    few: [(u64, Access); FEW],
    len: u8,
    many: Option<Arc<Vec<(u64, Access)>>>,
}

const UNUSED: (u64, Access) = (0, Access::Read);

impl Accesses {
    pub(super) const NONE: Accesses = Accesses { few: [UNUSED; FEW], len: 0, many: None };

    /// Adds an access.
    #[inline]
    pub(super) fn push(&mut self, object: u64, access: Access) {
        match self.few.get_mut(usize::from(self.len)) {
            Some(unused) => {
                *unused = (object, access);
                self.len += 1;
            }
            None => self.push_beyond(object, access),
        }
    }

    /// Adds an access to at least [`FEW`].
    #[cold]
    fn push_beyond(&mut self, object: u64, access: Access) {
        if let Some(many) = &mut self.many {
            return Arc::make_mut(many).push((object, access));
        }
        let mut many = self.few.to_vec();
        many.push((object, access));
        self.few[1..].fill(UNUSED);
        self.many = Some(Arc::new(many));
    }

    /// Adds an access, or changes the kind of the one to this object that is there. Call it before [`Accesses::sort`].
    pub(super) fn put(&mut self, object: u64, access: Access) {
        let known = match &mut self.many {
            Some(many) => Arc::make_mut(many),
            None => &mut self.few[..usize::from(self.len)],
        };
        let mut is_known = false;
        for one in known.iter_mut().filter(|one| one.0 == object) {
            one.1 = access;
            is_known = true;
        }
        match is_known {
            true if self.few[0].0 == object => self.few[0].1 = access,
            true => {}
            false => self.push(object, access),
        }
    }

    /// Orders the accesses. Call it after the last was added.
    #[inline]
    pub(super) fn sort(&mut self) {
        if let Some(many) = &mut self.many {
            let many = Arc::make_mut(many);
            many.sort_by_key(|&(object, _)| object);
            many.dedup_by_key(|&mut (object, _)| object);
        }
    }

    /// All accesses. The first is the one to the operation's own object if there are few.
    #[inline]
    pub(super) fn all(&self) -> &[(u64, Access)] {
        match &self.many {
            None => &self.few[..usize::from(self.len)],
            Some(many) => many,
        }
    }

    /// All accesses, the one to the operation's own object first.
    pub(super) fn own_first(&self) -> impl Iterator<Item = (u64, Access)> + '_ {
        let own = self.few[..usize::from(self.len.min(1))].first().copied();
        own.into_iter().chain(
            self.all()
                .iter()
                .copied()
                .filter(move |&(object, _)| Some(object) != own.map(|own| own.0)),
        )
    }

    /// The kind of the access to this object.
    #[inline]
    pub(super) fn to(&self, object: u64) -> Option<Access> {
        let Some(many) = &self.many else {
            let few = &self.few[..usize::from(self.len)];
            return few.iter().find(|&&(own, _)| own == object).map(|&(_, access)| access);
        };
        let at = many.binary_search_by_key(&object, |&(own, _)| own);
        at.ok().map(|at| many[at].1)
    }

    /// Changes the kind of all accesses.
    pub(super) fn set_all(&mut self, access: Access) {
        self.few.iter_mut().for_each(|one| one.1 = access);
        if let Some(many) = &mut self.many {
            Arc::make_mut(many).iter_mut().for_each(|one| one.1 = access);
        }
    }

    /// Changes the kind of the access to the operation's own object.
    pub(super) fn set_own(&mut self, access: Access) {
        self.few[0].1 = access;
        let own = self.few[0].0;
        if let Some(many) = &mut self.many {
            let all = Arc::make_mut(many).iter_mut();
            all.filter(|(object, _)| *object == own).for_each(|one| one.1 = access);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_accesses_are_found_by_their_object() {
        for count in 1..20u64 {
            let mut accesses = Accesses::NONE;
            for object in (1..=count).rev() {
                accesses.push(object * 7, Access::Write);
            }
            accesses.sort();
            assert_eq!(accesses.all().len() as u64, count);
            for object in 0..200 {
                let is_one = object % 7 == 0 && (1..=count).contains(&(object / 7));
                assert_eq!(accesses.to(object), is_one.then_some(Access::Write), "{object}");
            }
            accesses.set_own(Access::Lock);
            assert_eq!(accesses.to(count * 7), Some(Access::Lock));
            assert_eq!(accesses.own_first().next(), Some((count * 7, Access::Lock)));
            assert_eq!(accesses.own_first().count() as u64, count);
        }
    }

    #[test]
    fn an_access_that_is_put_replaces_the_one_to_its_object() {
        for count in 1..20u64 {
            for put in 1..=count + 1 {
                let mut accesses = Accesses::NONE;
                (1..=count).for_each(|object| accesses.push(object, Access::Read));
                accesses.put(put, Access::Write);
                accesses.sort();
                assert_eq!(accesses.all().len() as u64, count.max(put));
                assert_eq!(accesses.own_first().next().map(|own| own.0), Some(1));
                for object in 1..=count.max(put) {
                    let access = if object == put { Access::Write } else { Access::Read };
                    assert_eq!(accesses.to(object), Some(access), "{object} of {count}");
                    assert!(accesses.own_first().any(|one| one == (object, access)));
                }
            }
        }
    }
}
