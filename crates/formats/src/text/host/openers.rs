//! Who has device files of cards open: output of `fuser -v /dev/nvidia*` and `lsof /dev/nvidia*`.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::process::{Pid, ProcessKey};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::DeviceHolder;
use gpuwhy_model::scene::Process;

use super::{amounts, block, scene};
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};

/// What was found of one process.
#[derive(Debug, Default)]
struct Opener {
    user: Option<String>,
    name: Option<String>,
    devices: BTreeSet<String>,
}

/// Reads the output that begins with the first line, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if !first.contains("PID") && !first.starts_with("/dev/") {
        return None;
    }
    let words: Vec<&str> = first.split_ascii_whitespace().collect();
    if words == ["USER", "PID", "ACCESS", "COMMAND"] {
        return fuser(lines, 1);
    }
    if words.starts_with(&["COMMAND", "PID"]) && words.contains(&"FD") && words.contains(&"NAME") {
        return lsof(lines);
    }
    (device_of(first).is_some()).then(|| fuser(lines, 0))?
}

/// Returns the device file of a card with which a line of `fuser` begins.
fn device_of(text: &str) -> Option<(&str, &str)> {
    let (device, rest) = text.split_once(':')?;
    (device.starts_with("/dev/nvidia") || device.starts_with("/dev/dri/") || device == "/dev/kfd")
        .then_some((device, rest))
}

fn fuser(lines: &[Line<'_>], from: usize) -> Option<Block> {
    let mut openers: BTreeMap<Pid, Opener> = BTreeMap::new();
    let mut device = None;
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate().skip(from) {
        let text = line.text.as_ref();
        let rest = match device_of(text) {
            Some((named, rest)) => {
                device = Some(named);
                rest
            }
            None if text.starts_with(' ') => text,
            None => break,
        };
        let device = device?;
        taken = place + 1;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        // `alice  4242 F...m python`, or bare numbers.
        if let [user, pid, access, name @ ..] = words.as_slice()
            && let Some(pid) = amounts::whole(pid)
            && access.contains('.')
        {
            let opener = openers.entry(Pid(pid)).or_default();
            opener.user = Some((*user).to_owned());
            opener.name = Some(name.join(" "));
            opener.devices.insert(device.to_owned());
            continue;
        }
        for word in words {
            let digits = word.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
            if let Some(pid) = amounts::whole(digits) {
                openers.entry(Pid(pid)).or_default().devices.insert(device.to_owned());
            }
        }
    }
    (taken > 0).then(|| made(taken, openers))
}

fn lsof(lines: &[Line<'_>]) -> Option<Block> {
    let mut openers: BTreeMap<Pid, Opener> = BTreeMap::new();
    let mut taken = 1;
    for line in lines.iter().skip(1) {
        let text = line.text.as_ref();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let number_at = words
            .iter()
            .skip(1)
            .position(|word| amounts::whole::<u32>(word).is_some())
            .map(|place| place + 1);
        let (Some(number_at), Some(device)) = (number_at, words.last()) else {
            break;
        };
        if words.len() < 6 || command_after_prompt(text).is_some() {
            break;
        }
        taken += 1;
        if !device.starts_with("/dev/nvidia") && !device.starts_with("/dev/dri/") {
            continue;
        }
        let Some(pid) = amounts::whole(words[number_at]) else {
            continue;
        };
        let opener = openers.entry(Pid(pid)).or_default();
        // Threads stand in a column of their own between number and user.
        let user = words[number_at + 1..].iter().find(|word| amounts::whole::<u32>(word).is_none());
        opener.user = user.map(|user| (*user).to_owned());
        opener.name = Some(words[..number_at].join(" "));
        opener.devices.insert((*device).to_owned());
    }
    (taken > 1).then(|| made(taken, openers))
}

fn made(lines: usize, openers: BTreeMap<Pid, Opener>) -> Block {
    let mut scene = scene(Format::Openers);
    let mut holders = Vec::new();
    for (pid, opener) in openers {
        let devices: Vec<String> = opener.devices.into_iter().collect();
        holders.push(DeviceHolder { pid, start_ticks: 0, devices });
        let (Some(name), user) = (opener.name, opener.user) else {
            continue;
        };
        let uid = user.as_deref().and_then(amounts::whole::<u32>);
        scene.processes.push(Process {
            key: ProcessKey { pid, ..ProcessKey::default() },
            role: crate::proc::role(&name, &Reading::default()),
            name,
            user: user.filter(|_| uid.is_none()).into(),
            uid: uid.into(),
            ..Process::default()
        });
    }
    scene.device_holders = Reading::Known(holders);
    block(lines, scene)
}
