//! The amount of memory to use.

/// Memory to use if the system does not report how much it has.
const MEMORY_DEFAULT: u64 = 256 << 20;

/// An amount of memory, as the user asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Bytes(u64),
    /// Percentage of the machine's memory.
    Percent(u64),
}

impl Memory {
    /// Reads a size as GNU `sort -S` does.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid size {text:?}; expected one such as 512M, 2G or 25%");
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let shift = match unit {
            "%" if number <= 100 => return Ok(Self::Percent(number)),
            "%" => return Err(format!("{text} is more than the machine has")),
            "b" => 0,
            "" | "k" | "K" => 10,
            "m" | "M" => 20,
            "g" | "G" => 30,
            "t" | "T" => 40,
            "P" => 50,
            "E" => 60,
            _ => return Err(wrong()),
        };
        number.checked_mul(1 << shift).map(Self::Bytes).ok_or_else(wrong)
    }
}

/// Bytes of memory to use: as much as wanted, or half of what is available.
pub fn bytes(wanted: Option<Memory>) -> u64 {
    let amount = |name: &str| {
        let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = facts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
    };
    // A container may have less than its machine.
    let allowed =
        || std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse::<u64>().ok();
    match wanted {
        Some(Memory::Bytes(bytes)) => bytes,
        Some(Memory::Percent(percent)) => amount("MemTotal").map_or(MEMORY_DEFAULT, |total| {
            total.min(allowed().unwrap_or(u64::MAX)) / 100 * percent
        }),
        None => amount("MemAvailable")
            .map_or(MEMORY_DEFAULT, |free| free.min(allowed().unwrap_or(u64::MAX)) / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_gnu_sort() {
        assert_eq!(Memory::parse("1"), Ok(Memory::Bytes(1024)));
        assert_eq!(Memory::parse("7b"), Ok(Memory::Bytes(7)));
        assert_eq!(Memory::parse("3G"), Ok(Memory::Bytes(3 << 30)));
        assert_eq!(Memory::parse("512m"), Ok(Memory::Bytes(512 << 20)));
        assert_eq!(Memory::parse("50%"), Ok(Memory::Percent(50)));
        for wrong in ["", "G", "1X", "101%", "99999999999T", "-1"] {
            assert!(Memory::parse(wrong).is_err(), "{wrong}");
        }
    }
}
