//! Output of `nvidia-smi dmon` and `nvidia-smi pmon`: one row for each card or process and look.

mod columns;
mod devices;
mod looks;
mod processes;

#[cfg(test)]
mod tests;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::Scene;

use super::{Block, Context, Remark, nvidia_scene};
use crate::paste::Line;
use columns::{Columns, Row};
use looks::{Look, Looks};
use nvidia_scene::container_of;

pub(super) use devices::read as read_devices;
pub(super) use processes::read as read_processes;

/// One of the two outputs.
struct Output<T> {
    /// Returns the columns of a heading, if the line is one of this output.
    heading: fn(&str) -> Option<Columns>,
    /// Returns what a row says.
    row: fn(&Row<'_, '_>) -> Option<T>,
    /// Returns whether a row belongs to the look after this one.
    begins_another: fn(&Look<T>, &T) -> bool,
    scene: fn(&[Look<T>]) -> Scene,
}

impl<T> Output<T> {
    /// Reads the output that begins with the first of these lines.
    fn read(&self, lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
        let mut columns = (self.heading)(&lines.first()?.text)?;
        let mut looks: Looks<T> = Looks::new(context.command);
        let mut remarks = Vec::new();
        let mut taken = 0;
        for (line, place) in lines.iter().zip(1..) {
            let text = line.text.trim();
            if let Some(other) = (self.heading)(text) {
                columns = other;
            } else if let Some(row) = columns.row(text, place == lines.len()) {
                match (self.row)(&row) {
                    Some(said) => {
                        let is_new = looks.newest().is_some_and(|look| (self.begins_another)(look, &said));
                        looks.add(&row, said, is_new);
                    }
                    None => remarks.push(Remark::NotUnderstood { line: line.number }),
                }
            } else if !Columns::are_units(text) {
                break;
            }
            taken = place;
        }
        // Behind the last line of a text more may have stood.
        let looks = looks.finish(taken == lines.len());
        if looks.is_empty() {
            return None;
        }
        let mut scene = (self.scene)(&looks);
        if let Some(container) = context.command.and_then(container_of) {
            scene.machine.container = Reading::Known(container.to_owned());
        }
        Some(Block { lines: taken, scene, remarks })
    }
}
