//! Output of `df`.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{MountPoint, Space};
use gpuwhy_model::scene::Scene;

use super::commands::{has_option, words_of};
use super::{amounts, block, scene};
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};
use gpuwhy_model::command_line::masked_text;

/// Where loaders hand over their batches.
const SHARED_MEMORY: &str = "/dev/shm";

/// What the first column of the head is called.
const HEADS: &[&str] = &[
    "Filesystem",
    "文件系统",
    "檔案系統",
    "Dateisystem",
    "Sys.",
    "Sist.",
    "S.ficheros",
    "S.archivos",
    "ファイルシス",
    "파일",
];

/// A row of the table.
struct Row<'line> {
    source: &'line str,
    file_system: Option<&'line str>,
    size: &'line str,
    available: &'line str,
    target: &'line str,
}

/// Reads the table that begins with the first line, if one does; rows alone, if they can be nothing else.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let has_head = is_head(first);
    if !has_head && !is_row_alone(first) {
        return None;
    }
    let counts_files =
        first.contains("Inodes") || first.contains("IUse%") || has_option(context.command, "df", 'i');
    let block_size = block_size(first, context);
    let mut scene = scene(Format::Df);
    let mut mounts = Vec::new();
    let mut taken = usize::from(has_head);
    let mut name: Option<&str> = None;
    for line in lines.iter().skip(taken) {
        let text = line.text.trim_end();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        if words.len() == 1
            && (text.starts_with('/') || text.contains(':'))
            && command_after_prompt(text).is_none()
        {
            // A long name stands on a line of its own.
            name = Some(words[0]);
            taken += 1;
            continue;
        }
        let Some(row) = row(&words, name.take()) else {
            break;
        };
        taken += 1;
        if counts_files {
            continue;
        }
        take(&row, block_size, &mut scene, &mut mounts);
    }
    if taken == usize::from(has_head) && !has_head {
        return None;
    }
    if !mounts.is_empty() {
        scene.mounts = Reading::Known(mounts);
    }
    Some(block(taken, scene))
}

fn is_head(text: &str) -> bool {
    HEADS.iter().any(|head| text.starts_with(head)) && text.contains('%') && text.len() <= 200
}

/// Returns whether a line is a row whose head was left out, most often by `grep`.
fn is_row_alone(text: &str) -> bool {
    if !text.contains("% /") {
        return false;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let has_size = |word: &str| amounts::bytes(word, 1).is_some();
    row(&words, None).is_some_and(|row| {
        has_size(row.size) && has_size(row.available) && row.target.starts_with('/') && words.len() <= 7
    })
}

/// Takes a row apart: the share that is used stands before the place, whatever else is there.
fn row<'line>(words: &[&'line str], name: Option<&'line str>) -> Option<Row<'line>> {
    let share_at = words.iter().position(|word| *word == "-" || is_share(word))?;
    let target = words.get(share_at + 1).filter(|target| target.starts_with('/'))?;
    let numbers_at = share_at.checked_sub(3)?;
    let (size, used, available) = (words[numbers_at], words[numbers_at + 1], words[numbers_at + 2]);
    let are_numbers =
        [size, used, available].iter().all(|word| amounts::bytes(word, 1).is_some() || *word == "-");
    let before = &words[..numbers_at];
    let (source, file_system) = match (name, before) {
        (Some(name), []) => (name, None),
        (Some(name), [kind]) => (name, Some(*kind)),
        (None, [source, kind]) => (*source, Some(*kind)),
        // Names of shares may hold blanks.
        (None, [source, ..]) => (*source, None),
        _ => return None,
    };
    are_numbers.then_some(Row { source, file_system, size, available, target })
}

fn is_share(word: &str) -> bool {
    word.strip_suffix('%')
        .is_some_and(|digits| amounts::whole::<u32>(digits).is_some_and(|share| share <= 100))
}

fn take(row: &Row<'_>, block_size: u64, scene: &mut Scene, mounts: &mut Vec<MountPoint>) {
    if row.target == SHARED_MEMORY
        && let (Some(total), Some(available)) =
            (amounts::bytes(row.size, block_size), amounts::bytes(row.available, block_size))
    {
        scene.host.shared_memory = Reading::Known(Space { total, available });
        scene.host.shared_memory_least = Reading::Known(gpuwhy_model::units::Bytes(available));
    }
    if let Some(file_system) = row.file_system {
        mounts.push(MountPoint {
            target: row.target.to_owned(),
            file_system: file_system.to_owned(),
            source: masked_text(row.source),
            device: String::new(),
        });
    }
}

/// Returns how many bytes a number without unit counts: `1K-blocks` in the head, or the command's option.
fn block_size(head: &str, context: &Context<'_>) -> u64 {
    let named = head.split_ascii_whitespace().find_map(|word| {
        let (size, _) = word
            .split_once("-blocks")
            .or_else(|| word.split_once("-块"))
            .or_else(|| word.split_once("-Blöcke"))?;
        amounts::bytes(size, 1)
    });
    let options = context.command.and_then(|command| words_of(command, "df")).unwrap_or_default();
    let by_option = || {
        if options.contains(&"-m") || options.contains(&"-BM") {
            return Some(1 << 20);
        }
        (options.contains(&"-BG") || options.contains(&"-g")).then_some(1 << 30)
    };
    named.or_else(by_option).unwrap_or(1 << 10)
}
