//! Words for what should be said of texts beside the answer.

use gpuwhy_formats::text::Remark;
use gpuwhy_formats::unpack::{Content, Problem};
use gpuwhy_model::text::Text;
use gpuwhy_model::window::Disagreement;
use gpuwhy_render::{input, message};

/// Returns the words for a problem of a text.
pub(super) fn problem(problem: &Problem, name: &str) -> Text {
    use gpuwhy_model::units::Bytes;
    match problem {
        Problem::TooManyBytes(bytes) => input::too_many_bytes(Bytes(*bytes)),
        Problem::TooManyMembers(count) => input::too_many_members(*count),
        Problem::TooDeep(depth) => input::too_deep(*depth, name),
        Problem::TooLargeForMemory(bytes) => input::too_large_for_memory(Bytes(*bytes), name),
        Problem::DocumentCut(bytes) => input::document_cut(Bytes(*bytes), name),
        Problem::LinesCut { count: 1, first, bytes } => input::line_cut(Bytes(*bytes), *first, name),
        Problem::LinesCut { count, first, bytes } => input::lines_cut(Bytes(*bytes), *count, *first, name),
        Problem::OnlyWhatMatters { lines, kept, dropped: 0 } => input::only_what_matters(*kept, *lines, name),
        Problem::OnlyWhatMatters { lines, kept, dropped } => {
            input::too_many_matter(*dropped, *kept, *lines, name)
        }
        Problem::Broken(why) => input::broken(name, why.as_str()),
        Problem::Encrypted => input::encrypted(name),
    }
}

/// Returns the words for what is no text to be understood; none for a text and for what has its own problems.
pub(super) fn content(content: &Content, name: &str) -> Option<Text> {
    match content {
        Content::Text(captured) if captured.is_empty() => Some(input::is_empty(name)),
        Content::Text(_) | Content::Nothing => None,
        Content::Recording => Some(input::is_recording(name)),
        Content::PackedBy(packer) => Some(input::packed_by(name, *packer)),
        Content::Binary => Some(input::is_binary(name)),
    }
}

/// Returns the words for a remark on an output in a text; none for a line that is listed elsewhere.
pub(super) fn remark(remark: &Remark, name: &str) -> Option<Text> {
    match *remark {
        Remark::Cut { line, cards: 0 } => Some(input::has_no_end(line, name)),
        Remark::Cut { line, cards } => Some(message::cut_text(cards, line, name)),
        Remark::HasNoBegin { line } => Some(input::has_no_begin(line, name)),
        Remark::LeftOut { lines } => Some(input::lines_left_out(lines, name)),
        Remark::NotUnderstood { .. } => None,
    }
}

/// Returns the words for two texts that say different things of what cannot change.
pub(super) fn disagreement(disagreement: Disagreement) -> Text {
    let what = match disagreement.value.as_str() {
        "machine.hostname" => input::hostname(),
        "machine.kernel" => input::kernel(),
        "machine.boot_id" => input::boot(),
        "machine.driver.version" => input::driver_version(),
        "machine.driver.cuda_version" => input::cuda_version(),
        "machine.driver.module" => input::driver_module(),
        "machine.driver.card_count" => input::card_count(),
        "cards.name" => input::card_name(),
        "cards.memory.total" => input::card_memory(),
        "cards.pci_address" => input::card_address(),
        "host.cpus" => input::processors(),
        other => input::other_value(other),
    };
    input::disagreement(disagreement.earlier, disagreement.later, what)
}
