//! Output of `free`.

use gpuwhy_model::sample::HostMemory;

use super::commands::words_of;
use super::{amounts, block, scene};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// Names of the columns; `free` translates them.
const TOTAL: &[&str] = &["total", "总计", "總計", "合計", "gesamt", "全部"];
const FREE: &[&str] = &["free", "空闲", "空閒", "空き", "frei", "libre", "libero"];
const SHARED: &[&str] = &["shared", "共享", "共用", "共有", "gemns.", "partagé", "compartido"];
const CACHE: &[&str] = &["buff/cache", "缓冲/缓存", "缓冲/緩存", "puffer/cache", "tamp/cache", "búf/caché"];
const BUFFERS: &[&str] = &["buffers", "cached", "cache"];
const AVAILABLE: &[&str] = &["available", "可用", "利用可能", "verfügbar", "disponible", "disponibile"];
/// Names of the rows.
const MEMORY: &[&str] = &["Mem:", "内存：", "内存:", "記憶體：", "メモリ:", "Speicher:", "Mem.:"];
const SWAP: &[&str] = &["Swap:", "交换：", "交换:", "置換：", "スワップ:", "Swap：", "Échange:", "Inter:"];

/// Reads the table that begins with the first line, if one does. Its end may be missing, and its head too.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let head: Vec<&str> = lines.first()?.text.split_ascii_whitespace().collect();
    let is_head =
        head.len() >= 3 && is_one_of(head[0], TOTAL) && head.iter().any(|name| is_one_of(name, FREE));
    if !is_head {
        return None;
    }
    let (mut memory, mut swap, mut without_cache) = (None, None, None);
    let mut taken = 1;
    for line in lines.iter().skip(1) {
        let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
        match words.first() {
            Some(name) if is_one_of(name, MEMORY) => memory = Some(words[1..].to_vec()),
            Some(name) if is_one_of(name, SWAP) => swap = Some(words[1..].to_vec()),
            Some(&"-/+") => without_cache = words.last().copied(),
            Some(&("Low:" | "High:" | "Total:" | "总量：" | "Comm:")) => {}
            _ => break,
        }
        taken += 1;
    }
    let mut scene = scene(Format::Free);
    if let Some(row) = memory {
        let table = Table { head: &head, row: &row, unit: unit(&row, context)? };
        scene.host.memory = memory_of(&table, swap.as_deref(), without_cache).into();
    }
    Some(block(taken, scene))
}

fn is_one_of(word: &str, names: &[&str]) -> bool {
    names.contains(&word)
}

/// One row with the names of its columns.
struct Table<'line> {
    head: &'line [&'line str],
    row: &'line [&'line str],
    unit: u64,
}

impl Table<'_> {
    fn amount(&self, names: &[&str]) -> Option<u64> {
        let place = self.head.iter().position(|name| is_one_of(name, names))?;
        amounts::bytes(self.row.get(place)?, self.unit)
    }

    /// Returns the sum of all columns with such a name.
    fn sum(&self, names: &[&str]) -> Option<u64> {
        let places = self.head.iter().enumerate().filter(|(_, name)| is_one_of(name, names));
        let amounts = places.map(|(place, _)| amounts::bytes(self.row.get(place)?, self.unit));
        amounts.collect::<Option<Vec<u64>>>().filter(|all| !all.is_empty()).map(|all| all.iter().sum())
    }
}

fn memory_of(table: &Table<'_>, swap: Option<&[&str]>, without_cache: Option<&str>) -> Option<HostMemory> {
    let total = table.amount(TOTAL)?;
    // Before 2014 nobody worked out what is available: it was read off the second line.
    let available =
        table.amount(AVAILABLE).or_else(|| amounts::bytes(without_cache?, table.unit)).or_else(|| {
            Some(table.amount(FREE)?.saturating_add(table.amount(CACHE).or_else(|| table.sum(BUFFERS))?))
        })?;
    let swapped = Table { row: swap?, ..*table };
    let (swap_total, swap_free) = (swapped.amount(TOTAL)?, swapped.amount(FREE)?);
    let shared = table.amount(SHARED).unwrap_or(0);
    (available <= total && total > 0).then_some(HostMemory {
        total,
        available,
        swap_total,
        swap_free,
        shared,
        ..HostMemory::default()
    })
}

/// Returns what a number without unit counts: by the command, else by its size. A machine with a card has between 4 GiB
/// and 4 TiB; a number that fits two units is not read.
fn unit(row: &[&str], context: &Context<'_>) -> Option<u64> {
    let total = row.first()?;
    if total.ends_with(|last: char| last.is_ascii_alphabetic()) {
        return Some(1);
    }
    let options = context.command.and_then(|command| words_of(command, "free")).unwrap_or_default();
    let by_option = options.iter().find_map(|option| {
        let letters = option.strip_prefix('-')?;
        match letters {
            "-bytes" => return Some(1),
            "-kibi" => return Some(1 << 10),
            "-mebi" => return Some(1 << 20),
            "-gibi" => return Some(1 << 30),
            "-tebi" => return Some(1 << 40),
            "-kilo" => return Some(1000),
            "-mega" => return Some(1_000_000),
            "-giga" => return Some(1_000_000_000),
            _ if letters.starts_with('-') => return None,
            _ => {}
        }
        let units = [('b', 1), ('k', 1 << 10), ('m', 1 << 20), ('g', 1 << 30)];
        units.iter().find(|(letter, _)| letters.contains(*letter)).map(|(_, unit)| *unit)
    });
    if by_option.is_some() {
        return by_option;
    }
    if context.command.is_some_and(|command| words_of(command, "free").is_some()) {
        return Some(1 << 10);
    }
    let total: u64 = amounts::whole(total)?;
    let fits = |unit: u64| (4 << 30..=4 << 40).contains(&total.saturating_mul(unit));
    let mut units = [1_u64, 1 << 10, 1 << 20, 1 << 30].into_iter().filter(|unit| fits(*unit));
    let unit = units.next()?;
    units.next().is_none().then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::{Context, unit};

    #[test]
    fn a_number_without_unit_is_told_by_command_or_size() {
        let asked = |command, total| unit(&[total], &Context { command });
        assert_eq!(asked(Some("free -m"), "128000"), Some(1 << 20));
        assert_eq!(asked(Some("free -g"), "125"), Some(1 << 30));
        assert_eq!(asked(Some("free"), "128000000"), Some(1 << 10));
        assert_eq!(asked(Some("free --mebi"), "128000"), Some(1 << 20));
        assert_eq!(asked(None, "125"), Some(1 << 30));
        assert_eq!(asked(None, "128000"), Some(1 << 20));
        assert_eq!(asked(None, "131822592"), Some(1 << 10));
        assert_eq!(asked(None, "134986334208"), Some(1));
        assert_eq!(asked(None, "125Gi"), Some(1));
        // 4 TiB in GiB, or 4 GiB in MiB.
        assert_eq!(asked(None, "4096"), None);
        assert_eq!(asked(None, "3"), None);
    }
}
