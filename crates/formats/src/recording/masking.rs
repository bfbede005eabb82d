//! Free text of a sample that somebody else may have written: masked again when it is read back.
//!
//! Exactly what live sources mask, so that a replayed recording gives the same report.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Sample;

/// Masks all free text that is not masked by its own type.
pub(super) fn mask(sample: &mut Sample) {
    if let Reading::Known(lines) = &mut sample.kernel_log.value {
        for line in lines {
            mask_text(&mut line.text);
        }
    }
    if let Reading::Known(mounts) = &mut sample.mounts.value {
        for mount in mounts {
            mask_text(&mut mount.source);
        }
    }
    if let Reading::Known(table) = &mut sample.processes.value {
        for process in &mut table.processes {
            if let Reading::Known(environment) = &mut process.environment {
                environment.values_mut().for_each(mask_text);
            }
        }
    }
    if let Reading::Known(nvml) = &mut sample.nvml.value {
        for card in &mut nvml.cards {
            if let Reading::Known(clients) = &mut card.clients {
                for client in clients {
                    mask_reading(&mut client.name);
                }
            }
        }
    }
}

fn mask_reading(reading: &mut Reading<String>) {
    if let Reading::Known(text) = reading {
        mask_text(text);
    }
}

fn mask_text(text: &mut String) {
    *text = masked_text(text);
}
