//! `/proc/PID/mountinfo`.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::sample::MountPoint;

use super::bytes::{number, numbered_lines, printable, words};
use crate::Malformed;

/// One mount as a process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its number, as `mnt_id` in `/proc/PID/fdinfo` gives it.
    pub id: u64,
    /// The directory of the file system that is seen (not `/`: a bind mount or the view of a container).
    pub root: String,
    /// Options of this mount and of its file system (`ro`, `hidepid=2`, `cpu,cpuacct` …).
    pub options: Vec<String>,
    /// Where, what and of which kind.
    pub point: MountPoint,
}

/// Reads a mountinfo file, in its order; later mounts hide earlier ones at the same place.
///
/// # Errors
/// Fails when a line has not the kernel's form.
pub fn mounts(file: &[u8]) -> Result<Vec<Mount>, Malformed> {
    let mut mounts = Vec::new();
    for (line_number, line) in numbered_lines(file) {
        if line.is_empty() {
            continue;
        }
        let expected = "`ID PARENT MAJOR:MINOR ROOT TARGET OPTIONS … - TYPE SOURCE OPTIONS`";
        mounts.push(mount(line).ok_or(Malformed { line: line_number, expected })?);
    }
    Ok(mounts)
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = words(line);
    let id = fields.next().and_then(number)?;
    let device = fields.nth(1)?;
    let root = fields.next()?;
    let target = fields.next()?;
    let own_options = fields.next()?;
    // Any number of optional fields, then a dash.
    fields.find(|field| *field == b"-")?;
    let file_system = fields.next()?;
    // A file system without a source may leave the field empty, and then one word follows.
    let rest: Vec<&[u8]> = fields.collect();
    let (source, its_options) = match rest.as_slice() {
        [source, options, ..] => (*source, *options),
        [options] => (&b""[..], *options),
        [] => (&b""[..], &b""[..]),
    };
    let options = own_options.split(|byte| *byte == b',').chain(its_options.split(|byte| *byte == b','));
    Some(Mount {
        id,
        root: unescaped(root),
        options: options.filter(|option| !option.is_empty()).map(printable).collect(),
        point: MountPoint {
            target: unescaped(target),
            file_system: printable(file_system),
            source: masked_text(&unescaped(source)),
            device: printable(device),
        },
    })
}

/// Returns a path with the kernel's `\040` for a blank and its like replaced.
fn unescaped(field: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'\\'
            && let Some(digits) = tail.get(..3)
            && let Some(byte) = octal(digits)
        {
            bytes.push(byte);
            rest = &tail[3..];
            continue;
        }
        bytes.push(*first);
        rest = tail;
    }
    printable(&bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::mounts;

    #[test]
    fn fields_around_the_dash_are_read() {
        let file =
            b"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n\
                     22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=invisible\n";
        let mounts = mounts(file).unwrap();
        assert_eq!(mounts[0].id, 36);
        assert_eq!(mounts[0].root, "/mnt1");
        assert_eq!(mounts[0].point.target, "/mnt2");
        assert_eq!(mounts[0].point.file_system, "ext3");
        assert_eq!(mounts[0].point.source, "/dev/root");
        assert_eq!(mounts[0].point.device, "98:0");
        assert!(mounts[1].options.contains(&"hidepid=invisible".to_owned()));
    }

    #[test]
    fn blanks_come_back_and_secrets_do_not() {
        let file = b"40 1 0:50 / /data/my\\040set rw - fuse.webdav https://bob:hunter2@host/d rw\n\
                     41 1 0:51 / /a\\012b rw - tmpfs  rw\n";
        let mounts = mounts(file).unwrap();
        assert_eq!(mounts[0].point.target, "/data/my set");
        assert_eq!(mounts[0].point.source, "https://***@host/d");
        assert_eq!(mounts[1].point.target, "/a\\nb");
        assert_eq!(mounts[1].point.source, "");
        assert_eq!(mounts[1].options, ["rw", "rw"]);
    }

    #[test]
    fn a_cut_line_is_named() {
        let cut = mounts(b"22 27 0:21 / /proc rw - proc proc rw\n23 27 0:22 / /sys rw").unwrap_err();
        assert_eq!(cut.line, 2);
        assert!(mounts(b"").unwrap().is_empty());
    }
}
