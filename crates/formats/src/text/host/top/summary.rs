//! What `top` shows above the processes: processors, memory, swap.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::HostMemory;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::units::{Cores, Share};

use crate::text::host::amounts;

/// What stands above the processes.
#[derive(Debug, Default)]
pub(super) struct Summary {
    total: Option<u64>,
    free: Option<u64>,
    /// Buffers and page cache.
    cache: Option<u64>,
    available: Option<u64>,
    swap_total: Option<u64>,
    swap_free: Option<u64>,
    shared: Option<u64>,
    /// Hundredths that processors did not work, and that the hypervisor took, over all or one by one.
    idle: Vec<f64>,
    steal: Vec<f64>,
    has_each: bool,
}

impl Summary {
    /// Takes a line.
    pub(super) fn take(&mut self, text: &str) {
        if let Some((is_swap, unit, pairs)) = memory_line(text) {
            for (amount, name) in pairs {
                let Some(amount) = amounts::bytes(amount, unit) else {
                    continue;
                };
                match (is_swap, name) {
                    (false, "total") => self.total = Some(amount),
                    (false, "free") => self.free = Some(amount),
                    (false, "buff/cache" | "buffers" | "buff" | "cached") => {
                        self.cache = Some(self.cache.unwrap_or(0).saturating_add(amount));
                    }
                    (false, "shrd") => self.shared = Some(amount),
                    (true, "total") => self.swap_total = Some(amount),
                    (true, "free") => self.swap_free = Some(amount),
                    // Both stand on the line about swap.
                    (true, "avail") => self.available = Some(amount),
                    (true, "cached") => self.cache = Some(self.cache.unwrap_or(0).saturating_add(amount)),
                    _ => {}
                }
            }
            return;
        }
        self.take_processor(text);
    }

    /// Reads `%Cpu(s):  3.1 us,  1.0 sy, … 95.0 id, …`, the same for each processor, and `CPU:  5% usr … 90% idle`.
    fn take_processor(&mut self, text: &str) {
        let Some((name, rest)) = text.split_once(':') else {
            return;
        };
        let is_each = name.trim_end().ends_with(|last: char| last.is_ascii_digit());
        if !name.starts_with(['%', 'C']) || is_each != self.has_each && !self.idle.is_empty() {
            return;
        }
        let shares: Vec<&str> = rest.split([',', ' ', '%']).filter(|word| !word.is_empty()).collect();
        let before = |wanted: &[&str]| {
            let place = shares.iter().position(|word| wanted.contains(word))?;
            // A comma for the point was taken for one between fields.
            let whole = shares.get(place.checked_sub(1)?)?;
            let tenths = place
                .checked_sub(2)
                .and_then(|place| shares.get(place))
                .filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
            match tenths.filter(|_| whole.len() == 1 && !whole.contains('.')) {
                Some(above) => amounts::number(&format!("{above}.{whole}")),
                None => amounts::number(whole),
            }
        };
        if let Some(idle) = before(&["id", "idle"]) {
            self.has_each = is_each;
            self.idle.push(idle + before(&["wa", "io"]).unwrap_or(0.0));
            self.steal.extend(before(&["st"]));
        }
    }

    /// Fills in what the lines said.
    pub(super) fn fill(&self, scene: &mut Scene) {
        let host = &mut scene.host;
        if self.has_each {
            host.cpus = Reading::Known(self.idle.len() as u64);
            let idle: f64 = self.idle.iter().sum();
            host.cores_used = Reading::Known(Cores((self.idle.len() as f64 - idle / 100.0).max(0.0)));
        }
        if !self.steal.is_empty() {
            let steal: f64 = self.steal.iter().sum();
            host.steal = Reading::Known(Share(steal / 100.0 / self.steal.len() as f64));
        }
        let (Some(total), Some(swap_total), Some(swap_free)) = (self.total, self.swap_total, self.swap_free)
        else {
            return;
        };
        // Before 2014 nobody worked out what is available.
        let available = self.available.or_else(|| Some(self.free?.saturating_add(self.cache?)));
        if let Some(available) = available.filter(|available| *available <= total) {
            let shared = self.shared.unwrap_or(0);
            host.memory = Reading::Known(HostMemory {
                total,
                available,
                swap_total,
                swap_free,
                shared,
                ..HostMemory::default()
            });
        }
    }
}

/// Whether a line is about swap, the unit of its numbers in bytes, and pairs of number and name.
pub(super) type MemoryLine<'line> = (bool, u64, Vec<(&'line str, &'line str)>);

/// Reads a line about memory.
pub(super) fn memory_line(text: &str) -> Option<MemoryLine<'_>> {
    let (name, rest) = text.split_once(':')?;
    let words: Vec<&str> = name.split_ascii_whitespace().collect();
    let (unit, what) = match words[..] {
        ["KiB", what] | [what] => (1 << 10, what),
        ["MiB", what] => (1 << 20, what),
        ["GiB", what] => (1 << 30, what),
        ["TiB", what] => (1 << 40, what),
        _ => return None,
    };
    let is_swap = match what {
        "Mem" => false,
        "Swap" => true,
        _ => return None,
    };
    let words: Vec<&str> = rest.split([' ', ',', '.']).collect();
    // The words of `free` have other columns.
    if !words.contains(&"used") && !words.contains(&"free") {
        return None;
    }
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let pairs =
        fields.windows(2).map(|pair| (pair[0].trim_end_matches(','), pair[1].trim_matches([',', '.'])));
    Some((is_swap, unit, pairs.filter(|(_, name)| !name.is_empty()).collect()))
}
