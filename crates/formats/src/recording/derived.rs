//! What is made of other values of a sample: made anew when it is read back, so that recordings of older versions have
//! it too, and nothing that a stranger wrote there is believed.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Sample;

use crate::kernel_log::fact;
use crate::proc::{owner, role};

/// Makes the derived values of a sample whose text is masked.
pub(super) fn derive(sample: &mut Sample) {
    if let Reading::Known(lines) = &mut sample.kernel_log.value {
        for line in lines {
            line.fact = fact(&line.text);
        }
    }
    if let Reading::Known(table) = &mut sample.processes.value {
        for process in &mut table.processes {
            process.role = role(&process.name, &process.command);
            process.owner = owner(&process.cgroups, &process.environment);
        }
    }
}
