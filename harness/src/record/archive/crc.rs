//! CRC-32 as ZIP has it (the polynomial 0x04C11DB7, reflected). It protects against accidents only; digests do the rest.

/// What the register holds before the first byte, and what it is turned over with after the last.
const TURNED: u32 = 0xFFFF_FFFF;

/// For each byte what it adds, in the first table as the last byte, in each further one as the byte before.
const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "it is a byte")]
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 {
                0xEDB8_8320 ^ (value >> 1)
            } else {
                value >> 1
            };
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// A checksum in the making.
#[derive(Debug, Clone)]
pub(super) struct Crc32(u32);

impl Crc32 {
    pub(super) fn new() -> Self {
        Self(TURNED)
    }

    /// Adds bytes, eight at a time.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        for eight in eights {
            let first = self.0.to_le_bytes();
            let turned = |at: usize| eight[at] ^ first.get(at).copied().unwrap_or(0);
            self.0 = (0..8).fold(0, |value, at| value ^ TABLES[7 - at][usize::from(turned(at))]);
        }
        for byte in rest {
            let [low, ..] = self.0.to_le_bytes();
            self.0 = (self.0 >> 8) ^ TABLES[0][usize::from(low ^ byte)];
        }
    }

    pub(super) fn value(&self) -> u32 {
        self.0 ^ TURNED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> u32 {
        let mut crc = Crc32::new();
        crc.update(bytes);
        crc.value()
    }

    /// The published check value, and that of nothing.
    #[test]
    fn it_is_the_crc_of_zip() {
        assert_eq!(of(b"123456789"), 0xCBF4_3926);
        assert_eq!(of(b""), 0);
        assert_eq!(of(b"The quick brown fox jumps over the lazy dog"), 0x414F_A339);
    }

    #[test]
    fn it_does_not_matter_in_which_pieces_the_bytes_come() {
        let bytes: Vec<u8> = (0..200_u8).collect();
        for cut in 0..bytes.len() {
            let mut crc = Crc32::new();
            crc.update(&bytes[..cut]);
            crc.update(&bytes[cut..]);
            assert_eq!(crc.value(), of(&bytes), "cut at {cut}");
        }
    }
}
