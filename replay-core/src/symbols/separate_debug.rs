//! Debug information in a separate file.

use super::elf_file::ElfFile;
use object::Object;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROOT: &str = "/usr/lib/debug";

/// The path of the debug file that distributions install for a build id.
pub(super) fn by_build_id(id: &str, suffix: &str) -> Option<PathBuf> {
    if !id.is_ascii() || id.len() < 3 || id.starts_with("file-") {
        return None;
    }
    let (first, rest) = id.split_at(2);
    Some(Path::new(ROOT).join(".build-id").join(first).join(format!("{rest}{suffix}")))
}

/// The separate debug file of an image without debug information.
pub(super) fn find(image: &ElfFile) -> Option<Arc<ElfFile>> {
    let elf = image.elf()?;
    if elf.section_by_name(".debug_info").is_some() {
        return None;
    }
    let id = image.build_id();
    let same = |path: PathBuf| {
        ElfFile::open(&path).filter(|found| found.build_id() == id || id.starts_with("file-"))
    };
    if let Some(found) = by_build_id(id, ".debug").and_then(same) {
        return Some(found);
    }
    // By name, near the file. Without a build id, the checksum in the link is compared, because
    // nothing else detects an outdated debug file.
    let (name, checksum) = elf.gnu_debuglink().ok().flatten()?;
    let name = Path::new(OsStr::from_bytes(name)).file_name()?;
    let dir = image.path.parent()?;
    let beside = [dir.join(name), dir.join(".debug").join(name)];
    let below = Path::new(ROOT).join(dir.strip_prefix("/").unwrap_or(dir)).join(name);
    beside.into_iter().chain([below]).filter(|path| *path != image.path).find_map(|path| {
        let found = same(path)?;
        (!id.starts_with("file-") || crc32(found.bytes()) == checksum).then_some(found)
    })
}

/// The supplementary file shared by several debug files, as made by `dwz`.
pub(super) fn supplement(image: &ElfFile) -> Option<Arc<ElfFile>> {
    let elf = image.elf()?;
    let (name, id) = elf.gnu_debugaltlink().ok().flatten()?;
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let named = image.path.parent()?.join(OsStr::from_bytes(name));
    // A relative name is relative to the real path of the debug file, not to a link.
    let real = std::fs::canonicalize(&image.path).ok()?.parent()?.join(OsStr::from_bytes(name));
    [Some(named), Some(real), by_build_id(&id, ".debug")]
        .into_iter()
        .flatten()
        .find_map(|path| ElfFile::open(&path).filter(|found| found.build_id() == id))
}

/// The checksum of `.gnu_debuglink`.
fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (start, entry) in (0u32..).zip(&mut table) {
        *entry = (0..8).fold(start, |value, _| (value >> 1) ^ (0xedb8_8320 * (value & 1)));
    }
    !bytes.iter().fold(!0u32, |sum, byte| (sum >> 8) ^ table[usize::from((sum as u8) ^ byte)])
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_crc32() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
