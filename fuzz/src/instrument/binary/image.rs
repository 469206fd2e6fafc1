//! A module in memory of the fuzzer: it takes the place of the runtime's `image`, which describes the
//! modules that the loader mapped.

use std::cell::RefCell;

/// The address of the code.
pub(super) const CODE: u64 = 0x40_1000;
/// The address of the constant data.
const DATA: u64 = 0x60_0000;
/// The largest code segment, so that it ends before the data.
const MOST: usize = 0x10_0000;

thread_local! {
    static INPUT: RefCell<(Vec<u8>, Vec<u8>)> = RefCell::default();
}

/// Sets the module that [`Image::all`] returns to this thread. The first byte says how much of the
/// rest is code. Returns the end of the code.
pub(super) fn set(input: &[u8]) -> u64 {
    let (&share, rest) = input.split_first().unwrap_or((&0, &[]));
    let len = (rest.len() * (usize::from(share) + 1) / 256).min(MOST);
    let (code, data) = rest.split_at(len);
    INPUT.set((code.to_vec(), data.to_vec()));
    CODE + len as u64
}

/// A function, as the unwind tables would list it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) lands: Lands,
}

/// Whether a function has landing pads for exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lands {
    Nowhere,
    By(u64),
    #[allow(dead_code, reason = "the decoder matches on it")]
    Somewhere,
}

/// Which accesses of a module are instrumented by the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instrumentation {
    None,
    #[allow(dead_code, reason = "the decoder compares with it")]
    Full,
}

/// The module.
#[derive(Debug)]
pub(super) struct Image {
    code: Vec<u8>,
    data: Vec<u8>,
}

impl Image {
    /// In half of the modules the first functions have the symbols of functions that are explored in separate ways.
    pub(super) fn functions_named<T>(&self, wanted: impl Fn(&[u8]) -> Option<T>) -> Vec<(u64, T)> {
        let symbols = [
            "std3std3sys4sync5mutex5futex5Mutex14lock_contended",
            "std3std3sys4sync6rwlock5futex6RwLock14read_contended",
            "std3std3sys3pal4unix14stack_overflow",
            "core4core4sync6atomic23atomic_compare_exchange",
        ];
        if !self.code.len().is_multiple_of(2) {
            return Vec::new();
        }
        let listed = self.functions((CODE, CODE + self.code.len() as u64)).unwrap_or_default();
        let named = listed.iter().zip(symbols);
        named.filter_map(|(one, symbol)| Some((one.start, wanted(symbol.as_bytes())?))).collect()
    }

    pub(super) fn all() -> Vec<Image> {
        let (code, data) = INPUT.with_borrow(Clone::clone);
        vec![Image { code, data }]
    }

    pub(super) fn is_own(&self) -> bool {
        true
    }

    pub(super) fn is_observed(&self) -> bool {
        true
    }

    pub(super) fn lists_functions(&self) -> bool {
        true
    }

    pub(super) fn instrumentation(&self) -> Instrumentation {
        Instrumentation::None
    }

    pub(super) fn text(&self) -> Option<(u64, u64)> {
        Some((CODE, CODE + self.code.len() as u64))
    }

    pub(super) fn word(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(address)?.get(..8)?.try_into().ok()?))
    }

    pub(super) fn bytes(&self, address: u64) -> Option<&[u8]> {
        let inside = |from: u64, bytes: &'_ [u8]| {
            let at = usize::try_from(address.checked_sub(from)?).ok()?;
            (at < bytes.len()).then_some(at)
        };
        let code = inside(CODE, &self.code).map(|at| &self.code[at..]);
        code.or_else(|| inside(DATA, &self.data).map(|at| &self.data[at..]))
    }

    pub(super) fn data(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.data[..])
    }

    pub(super) fn is_constant(&self, address: u64) -> bool {
        (DATA..DATA + self.data.len() as u64).contains(&address)
    }

    /// Two functions; the first has its table of landing pads at the beginning of the data.
    pub(super) fn functions(&self, (start, end): (u64, u64)) -> Option<Vec<Listed>> {
        let middle = start + (end - start) / 2;
        let first = Listed { start, end: middle, lands: Lands::By(DATA) };
        let second = Listed { start: middle, end, lands: Lands::Nowhere };
        Some([first, second].into_iter().filter(|one| one.start < one.end).collect())
    }

    pub(super) fn unlisted(&self, _: (u64, u64), _: &[Listed]) -> u64 {
        0
    }
}
