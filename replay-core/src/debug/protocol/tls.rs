//! Finds thread-local variables as libthread_db does, with the descriptors that the C library
//! exports for it (`_thread_db_*`: three numbers each: bits, elements, offset).

use crate::symbols::{Memory, Symbols};

/// The address of a thread-local variable.
///
/// `block` is the thread's control block, `link_map` the loader's entry for the module, `offset`
/// the variable's offset in the module's thread-local storage.
pub(crate) fn address(
    symbols: &Symbols,
    memory: &dyn Memory,
    block: u64,
    link_map: u64,
    offset: u64,
) -> Option<u64> {
    let word = |at: u64| {
        let mut bytes = [0; 8];
        (memory.read(at, &mut bytes) == 8).then(|| u64::from_le_bytes(bytes))
    };
    let field = |name: &str| {
        let mut bytes = [0; 12];
        let at = symbols.exported(name)?;
        if memory.read(at, &mut bytes) < 12 {
            return None;
        }
        let number = |at: usize| {
            u64::from(u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
        };
        Some((number(0), number(8)))
    };
    let (_, module_at) = field("_thread_db_link_map_l_tls_modid")?;
    let (_, vector_at) = field("_thread_db_pthread_dtvp")?;
    let (bits, first) = field("_thread_db_dtv_dtv")?;
    let (_, pointer_at) = field("_thread_db_dtv_t_pointer_val")?;
    let module = word(link_map.checked_add(module_at)?)?;
    let vector = word(block.checked_add(vector_at)?)?;
    let slot = vector.checked_add(first)?.checked_add((bits / 8).checked_mul(module)?)?;
    let storage = word(slot.checked_add(pointer_at)?)?;
    // The lowest bit is set if the thread's storage is not allocated yet.
    (storage & 1 == 0).then(|| storage.wrapping_add(offset))
}
