//! Every reader that takes bytes, of files of the machine and of whole documents.

use gpuwhy_formats::{kernel_log, nvidia_smi_xml, proc, recognise, recording, sys};

/// Reads everything that takes bytes; only that it returns counts.
pub(crate) fn read_as_everything(bytes: &[u8]) {
    let _ = proc::stat(bytes);
    let _ = proc::status(bytes);
    let _ = proc::io(bytes);
    let _ = proc::run_delay(bytes);
    let _ = proc::wait_channel(bytes);
    let _ = proc::name(bytes);
    let _ = proc::command_line(bytes).line();
    let _ = proc::environment(bytes);
    let _ = proc::cgroup_paths(bytes);
    let _ = proc::cpu_max(bytes);
    let _ = proc::cpu_quota(bytes, bytes);
    let _ = proc::throttling(bytes);
    let _ = proc::pressure(bytes);
    let _ = proc::meminfo(bytes);
    let _ = proc::processors(bytes);
    let _ = proc::processor_count(bytes);
    let _ = proc::mounts(bytes);
    let _ = proc::modules(bytes);
    let _ = proc::nvidia_module_version(bytes);
    let _ = proc::users(bytes);
    let _ = proc::namespace_number(bytes);
    let _ = proc::hexadecimal(bytes);
    let _ = proc::disks(bytes, |_| true);
    let _ = proc::paging(bytes);
    let _ = proc::interface_counters(bytes);
    let _ = proc::connected_sockets(bytes);
    let _ = proc::libraries(bytes);
    let _ = proc::limit(bytes);
    let _ = proc::limit_events(bytes);
    let _ = proc::idle_file_pages(bytes);
    let _ = proc::proportional_set(bytes);
    let _ = sys::drm_client(bytes);
    let _ = sys::port_rate(bytes);
    let _ = sys::port_is_active(bytes);
    let _ = sys::interface_speed(bytes);
    let _ = sys::lane_speed(bytes);
    let _ = sys::error_total(bytes);
    let _ = gpuwhy_formats::fabric_manager_version(bytes);
    let _ = kernel_log::journal_entry(bytes);
    for line in kernel_log::kmsg_records(bytes).flatten() {
        let _ = kernel_log::is_about_cards(&line.text);
        let _ = kernel_log::fact(&line.text);
    }
    let _ = recognise(bytes);
    let _ = recording::Reader::new(bytes).map(Iterator::count);
    let _ = nvidia_smi_xml::read(&String::from_utf8_lossy(bytes));
}
