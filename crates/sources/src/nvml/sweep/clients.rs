//! Who has a context on a card, and who worked.

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardClient, ClientKind, ProcessUtilization};
use gpuwhy_model::units::Percent;

use crate::nvml::answers::{client, nothing_if_not_found, reading_of};
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::plausible;
use crate::nvml::raw::{ListForm, ListKind};

/// Reads who has a context on the card: compute, then graphics, then clients of the multi-process service.
pub(super) fn clients(caller: &mut Caller, subject: &mut Subject) -> Reading<Vec<CardClient>> {
    let compute = list(caller, subject, ListKind::Compute, Call::ComputeProcesses);
    compute.map(|mut clients| {
        // A card without graphics, or a library without the service, has no such list.
        let graphics = list(caller, subject, ListKind::Graphics, Call::GraphicsProcesses);
        let service = list(caller, subject, ListKind::Mps, Call::MpsProcesses);
        for client in graphics.into_known().into_iter().chain(service.into_known()).flatten() {
            let is_listed = clients.iter().any(|listed: &CardClient| listed.pid == client.pid);
            // The service's clients also stand in the compute list of newer drivers.
            if client.kind != ClientKind::Mps || !is_listed {
                clients.push(client);
            }
        }
        clients
    })
}

fn list(caller: &mut Caller, subject: &mut Subject, kind: ListKind, call: Call) -> Reading<Vec<CardClient>> {
    let mut contradiction = None;
    for form in [ListForm::V3, ListForm::V2, ListForm::V1] {
        let answer =
            caller.try_card(subject, call, |library, device| library.process_rows(device, kind, form));
        let rows = match answer {
            Ok(rows) => rows,
            Err(refusal) if refusal.is_unknown_function() => continue,
            Err(refusal) => return reading_of(call, Err(refusal)),
        };
        match rows.read() {
            Ok(rows) => return Reading::Known(rows.iter().map(|row| client(row, kind)).collect()),
            Err(error) => contradiction = contradiction.or(Some(error)),
        }
    }
    contradiction.map_or(Reading::Unsupported, |value| Reading::Failed(Failure::Implausible { value }))
}

/// Reads how much each process worked since a time stamp.
pub(super) fn work(
    caller: &mut Caller,
    subject: &mut Subject,
    seen_us: u64,
) -> Reading<Vec<ProcessUtilization>> {
    let rows = caller.try_card(subject, Call::ProcessUtilization, |library, device| {
        library.process_utilization(device, seen_us)
    });
    // "Not found" is the library's word for "nobody worked".
    reading_of(Call::ProcessUtilization, nothing_if_not_found(rows)).and_then(|rows| {
        let newer = rows.iter().filter(|row| row.timeStamp > seen_us && row.pid != 0);
        let work = newer.map(|row| ProcessUtilization {
            pid: Pid(row.pid),
            time_us: row.timeStamp,
            sm: Percent(f64::from(row.smUtil)),
            memory: Percent(f64::from(row.memUtil)),
        });
        plausible::work(work.collect())
    })
}
