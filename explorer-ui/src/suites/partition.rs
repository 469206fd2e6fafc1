//! Parts of a suite for several machines, as cargo-nextest divides it: `count:M/N`, `hash:M/N`.

/// Part `part` of `of` parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    by_hash: bool,
    part: u64,
    of: u64,
}

impl Partition {
    /// Reads `count:M/N` or `hash:M/N`.
    ///
    /// # Errors
    /// If the text is neither.
    pub fn parse(text: &str) -> Result<Partition, String> {
        let wrong =
            || format!("`{text}` is no partition: use count:M/N or hash:M/N, such as count:1/4");
        let (kind, share) = text.split_once(':').ok_or_else(wrong)?;
        let (part, of) = share.split_once('/').ok_or_else(wrong)?;
        let by_hash = match kind {
            "hash" => true,
            "count" => false,
            _ => return Err(wrong()),
        };
        let number = |digits: &str| digits.parse::<u64>().map_err(|_| wrong());
        let partition = Partition { by_hash, part: number(part)?, of: number(of)? };
        match (1..=partition.of).contains(&partition.part) {
            true => Ok(partition),
            false => {
                Err(format!("`{text}`: the part must be between 1 and {}", partition.of.max(1)))
            }
        }
    }

    /// Whether the test at this position of the list, with this name, belongs to the part.
    #[must_use]
    pub fn has(self, position: usize, name: &str) -> bool {
        let number = match self.by_hash {
            true => fnv(name.as_bytes()),
            false => position as u64,
        };
        number % self.of == self.part - 1
    }
}

/// FNV-1a: the same on every machine and in every version.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_together_are_the_whole() {
        for kind in ["count", "hash"] {
            let parts: Vec<Partition> = (1..=3)
                .map(|part| Partition::parse(&format!("{kind}:{part}/3")).expect("valid"))
                .collect();
            for position in 0..50 {
                let name = format!("test {position}");
                assert_eq!(parts.iter().filter(|part| part.has(position, &name)).count(), 1);
            }
        }
        for wrong in ["1/2", "count:0/2", "count:3/2", "count:1/0", "slice:1/2", "count:a/b"] {
            assert!(Partition::parse(wrong).is_err(), "{wrong}");
        }
    }
}
