//! Goes through a paste and asks every format at every line.

use gpuwhy_model::scene::Scene;

use super::block::{Block, Context, Remark, TextFormat};
use super::catalogue::FORMATS;
use super::{foreign, nvidia_bug_report};
use crate::Format;
use crate::paste::{Line, Paste, command_after_prompt, is_idle_prompt};

/// One output that was understood.
#[derive(Debug)]
pub struct Piece {
    /// Of which tool.
    pub format: Format,
    /// Its first line in the text, from 1.
    pub first_line: u64,
    /// Its last line.
    pub last_line: u64,
    /// What it says.
    pub scene: Scene,
    /// What should be said of it beside the answer.
    pub remarks: Vec<Remark>,
}

/// What was understood of a text.
#[derive(Debug, Default)]
pub struct Understood {
    /// The outputs in it, in order.
    pub pieces: Vec<Piece>,
    /// Numbers of the lines, from 1, that nobody knows; blank ones and prompts are not among them.
    pub unknown_lines: Vec<u64>,
}

/// What is met in a paste, in order.
#[derive(Debug)]
pub enum Met {
    /// An output that was understood.
    Piece(Box<Piece>),
    /// A line that nobody knows, by its number in the text.
    Unknown(u64),
}

/// Understands a text as far as any format does.
pub fn understand(text: &str) -> Understood {
    understand_by(FORMATS, text)
}

/// Understands a paste as far as any format does, and hands over what it meets: what a long text holds need not be in
/// memory at one time.
pub fn understand_paste(paste: &Paste<'_>, met: &mut dyn FnMut(Met)) {
    understand_each(FORMATS, paste, met);
}

fn understand_by(formats: &[TextFormat], text: &str) -> Understood {
    let mut understood = Understood::default();
    understand_each(formats, &Paste::of(text), &mut |met| match met {
        Met::Piece(piece) => understood.pieces.push(*piece),
        Met::Unknown(line) => understood.unknown_lines.push(line),
    });
    understood
}

fn understand_each(formats: &[TextFormat], paste: &Paste<'_>, met: &mut dyn FnMut(Met)) {
    let lines = paste.lines.as_slice();
    let mut context = Context::default();
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        if line.text.trim().is_empty() {
            next += 1;
            continue;
        }
        if let Some(mark) = nvidia_bug_report::mark(&lines[next..]) {
            context.command = mark.command;
            next += mark.lines;
            continue;
        }
        let found = formats.iter().find_map(|format| {
            let block = (format.read)(&lines[next..], &context)?;
            (block.lines > 0).then_some((format.format, block))
        });
        if let Some((format, block)) = found {
            let taken = block.lines.min(lines.len() - next);
            met(Met::Piece(Box::new(piece(format, block, &lines[next..next + taken]))));
            next += taken;
            context = Context::default();
        } else if let Some(command) = command_after_prompt(&line.text) {
            context.command = Some(command);
            next += 1;
        } else if is_idle_prompt(&line.text) {
            next += 1;
        } else {
            let passed = foreign::document(&lines[next..]).unwrap_or(1);
            let written = lines[next..next + passed].iter().filter(|line| !line.text.trim().is_empty());
            written.for_each(|line| met(Met::Unknown(line.number)));
            next += passed;
        }
    }
}

fn piece(format: Format, block: Block, lines: &[Line<'_>]) -> Piece {
    let number = |line: Option<&Line<'_>>| line.map_or(0, |line| line.number);
    Piece {
        format,
        first_line: number(lines.first()),
        last_line: number(lines.last()),
        scene: block.scene,
        remarks: block.remarks,
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::Scene;

    use super::super::block::{Block, Context, TextFormat};
    use super::understand_by;
    use crate::Format;
    use crate::paste::Line;

    /// Takes all lines that begin with a star.
    fn stars(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
        let taken = lines.iter().take_while(|line| line.text.starts_with('*')).count();
        (taken > 0).then(|| Block { lines: taken, scene: Scene::default(), remarks: Vec::new() })
    }

    /// Takes one line, and only after a certain command.
    fn answer(_: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
        (context.command == Some("ask")).then(|| Block { lines: 1, ..Block::default() })
    }

    const FORMATS: &[TextFormat] = &[
        TextFormat { format: Format::NvidiaSmiXml, read: stars },
        TextFormat { format: Format::Recording, read: answer },
    ];

    #[test]
    fn several_outputs_stand_in_a_row() {
        let understood = understand_by(FORMATS, "hello\n* a\n* b\n\n$ ask\n42\nwhat\n* c");
        let pieces: Vec<(Format, u64, u64)> =
            understood.pieces.iter().map(|piece| (piece.format, piece.first_line, piece.last_line)).collect();
        assert_eq!(
            pieces,
            [(Format::NvidiaSmiXml, 2, 3), (Format::Recording, 6, 6), (Format::NvidiaSmiXml, 8, 8)]
        );
        assert_eq!(understood.unknown_lines, [1, 7]);
    }

    #[test]
    fn nothing_is_nothing() {
        let understood = understand_by(FORMATS, "\n \n");
        assert!(understood.pieces.is_empty() && understood.unknown_lines.is_empty());
    }
}
