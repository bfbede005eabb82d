//! The log of NVIDIA's fabric manager, `/var/log/fabricmanager.log`: `[Nov 05 2024 13:55:26] [ERROR] [tid 77] what it says`.

use gpuwhy_model::reading::Reading;

use super::{block, scene};
use crate::Format;
use crate::kernel_log::Units;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};

/// The program that writes it.
const PROGRAM: &str = "nv-fabricmanager";
/// A message goes on over no more lines that have no head.
const LINES_WITHOUT_HEAD: usize = 4;
/// No time in a head is longer.
const TIME_MAX: usize = 24;

/// Reads the log that begins with the first of these lines, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    said(&lines.first()?.text)?;
    let mut units = Units::default();
    let mut taken = 0;
    while let Some(line) = lines.get(taken) {
        if let Some(words) = said(&line.text) {
            units.note(PROGRAM, words);
            taken += 1;
            continue;
        }
        let Some(below) = goes_on(&lines[taken..]) else {
            break;
        };
        taken += below;
    }
    let mut scene = scene(Format::FabricManagerLog);
    if units.has_no_switches() {
        scene.machine.nvswitches = Reading::Known(0);
    }
    scene.machine.driver.module = units.module().map(str::to_owned).into();
    scene.machine.services = Reading::Known(units.into_services());
    Some(block(taken, scene))
}

/// Returns what a line says behind its head.
fn said(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('[')?;
    let (time, rest) = rest.split_once("] [")?;
    let (level, rest) = rest.split_once("] [tid ")?;
    let (thread, words) = rest.split_once(']')?;
    let is_head = time.len() <= TIME_MAX
        && time.contains(':')
        && level.trim().bytes().all(|byte| byte.is_ascii_uppercase())
        && thread.trim().bytes().all(|byte| byte.is_ascii_digit());
    is_head.then(|| words.trim_start())
}

/// Returns how many lines without a head stand before the next one with a head, or after the last one belong to its
/// message; none where something else begins.
fn goes_on(lines: &[Line<'_>]) -> Option<usize> {
    let below = lines.iter().take(LINES_WITHOUT_HEAD + 1);
    let below = below.take_while(|line| command_after_prompt(&line.text).is_none());
    let mut is_first = true;
    let mut last_of_message = None;
    for (line, place) in below.zip(0..) {
        if said(&line.text).is_some() {
            return Some(place);
        }
        if is_first && line.text.starts_with("Message payload details:") {
            last_of_message = Some(place + 1);
        }
        is_first = false;
    }
    last_of_message
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;

    use super::read;
    use crate::paste::Paste;
    use crate::text::{Block, Context};

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    #[test]
    fn messages_of_several_lines_are_one_log() {
        let text = "[Nov 05 2024 13:55:26] [INFO] [tid 77] Fabric Manager version is : 535.161.08\n\
                    [Nov 05 2024 13:55:27] [INFO] [tid 78] Received an inband message:  Message header details: type:4\n\
                    Message payload details:Team release request: Team Handle:1 Flags:0\n\
                    \n\
                    [Nov 05 2024 13:55:28] [INFO] [tid 78] multicast group 0 is freed.\n\
                    Message payload details:Team setup response: Flags:0\n\
                    $ free -g\n";
        let block = block(text).unwrap();
        assert_eq!((block.lines, block.remarks.len()), (6, 0));
        assert_eq!(block.scene.provenance.inputs, ["fabricmanager.log"]);
        let services = block.scene.machine.services.known().unwrap();
        assert_eq!(services[0].version, Reading::Known("535.161.08".to_owned()));
    }

    #[test]
    fn other_logs_are_none_of_this() {
        for text in [
            "",
            "[Nov 05 2024 13:55:26] [INFO] done",
            "[2024-11-05 13:55:26] [error] [client 1.2.3.4] x",
            "[ 1.0] [INFO] [tid 7] x",
            "Message payload details:Team release request",
        ] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
