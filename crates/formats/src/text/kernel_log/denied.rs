//! A log that may not be read: that nothing was printed does not mean that nothing was written.

use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::scene::{Provenance, Scene, SourceKind, Window};

use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// How systems say that something may not be done, in several languages.
const REFUSALS: &[&str] = &[
    "operation not permitted",
    "permission denied",
    "不允许的操作",
    "权限不够",
    "拒绝访问",
    "不允許此操作",
    "許可されていない操作",
    "許可がありません",
    "허가되지 않음",
    "허가 거부",
    "vorgang nicht zulässig",
    "die operation ist nicht erlaubt",
    "keine berechtigung",
    "opération non permise",
    "permission non accordée",
    "operación no permitida",
    "permiso denegado",
    "operazione non permessa",
    "permesso negato",
    "операция не позволена",
    "операция не разрешена",
    "отказано в доступе",
    "operação não permitida",
    "permissão negada",
];

/// Files that hold the kernel log.
const LOGS: &[&str] =
    &["/dev/kmsg", "/proc/kmsg", "kern.log", "/var/log/messages", "/var/log/syslog", "/var/log/dmesg"];

/// What a line begins with that may say so.
const BEGINNINGS: &[&str] = &[
    "dmesg: ",
    "cat: ",
    "tail: ",
    "head: ",
    "less: ",
    "more: ",
    "grep: ",
    "egrep: ",
    "zgrep: ",
    "zcat: ",
    "awk: ",
    "journalctl: ",
    "No journal files",
    "Hint: You are",
    "/var/log/",
    "/dev/kmsg",
];

/// Returns whether a line says that the kernel log was closed to who asked.
pub(super) fn is_denial(line: &str, context: &Context<'_>) -> bool {
    let asks_for_it = context
        .command
        .is_some_and(|command| command.starts_with("dmesg") || command.starts_with("journalctl"));
    let line = line.trim();
    let may_be = asks_for_it || BEGINNINGS.iter().any(|begin| line.starts_with(begin));
    if !may_be || line.len() > 300 {
        return false;
    }
    let lower = line.to_lowercase();
    let is_refused = REFUSALS.iter().any(|words| lower.contains(words));
    if lower.starts_with("dmesg: ") {
        // Every tongue has its own words for it.
        let of_the_log =
            ["buffer", "klogctl", "kmsg", "failed", "puffer", "缓冲区", "失败", "バッファ", "tampon"];
        return is_refused || of_the_log.iter().any(|word| lower.contains(word));
    }
    lower.contains("no journal files were opened due to insufficient permissions")
        || lower.contains("you are currently not seeing messages from other users and the system")
        || is_refused && (asks_for_it || LOGS.iter().any(|log| lower.contains(log)))
}

/// Returns how many lines a denial has: the journal adds who may read it.
pub(super) fn length(lines: &[Line<'_>]) -> usize {
    let explains = |text: &str| text.contains("can see all messages") || text.contains("Pass -q to turn off");
    1 + lines.iter().skip(1).take(3).take_while(|line| explains(&line.text)).count()
}

/// Returns what a denial of so many lines says: the log is there and closed.
pub(super) fn block(lines: usize) -> Block {
    let scene = Scene {
        window: Window { samples: 1, ..Window::default() },
        events: Reading::Denied(Access::KernelLog),
        provenance: Provenance { source: SourceKind::Text, inputs: vec![Format::KernelLog.to_string()] },
        ..Scene::default()
    };
    Block { lines, scene, ..Block::default() }
}
