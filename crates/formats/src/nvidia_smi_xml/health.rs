//! What the output says of a card's memory errors and their repair.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{Ecc, EccCounts, RemappedRows, RetiredPages, SpareRows};

use super::card::in_section;
use super::element::Element;
use super::value::{first_known, switch, whole};

/// Reads the counts of memory errors.
pub(super) fn ecc(gpu: &Element) -> Ecc {
    let errors = gpu.child(&["ecc_errors"]);
    let (volatile, aggregate) = (in_section(errors, &["volatile"]), in_section(errors, &["aggregate"]));
    Ecc {
        enabled: switch(in_section(gpu.child(&["ecc_mode"]), &["current_ecc"]), "Enabled", "Disabled"),
        volatile: counts(volatile),
        aggregate: counts(aggregate),
        sram_threshold_exceeded: yes(in_section(aggregate, &["sram_threshold_exceeded"])),
    }
}

/// Reads the counts of one kind; old drivers name other parts, and sums.
fn counts(section: Option<&Element>) -> EccCounts {
    let number = |name: &str| whole(in_section(section, &[name]), "");
    let of_caches = sum([
        number("sram_uncorrectable"),
        number("sram_uncorrectable_parity"),
        number("sram_uncorrectable_secded"),
    ]);
    let of_memory = number("dram_uncorrectable");
    let whole_of = |kind: &str| whole(in_section(in_section(section, &[kind]), &["total"]), "");
    EccCounts {
        corrected: first_known([
            whole_of("single_bit"),
            sum([number("sram_correctable"), number("dram_correctable")]),
        ]),
        uncorrected: first_known([whole_of("double_bit"), sum([of_caches.clone(), of_memory.clone()])]),
        dram_uncorrected: of_memory,
        sram_uncorrected: of_caches,
    }
}

/// Returns the sum of the counts that are there; without any, why the first that is named has none.
fn sum<const N: usize>(counts: [Reading<u64>; N]) -> Reading<u64> {
    let known: Vec<u64> = counts.iter().filter_map(|count| count.known().copied()).collect();
    if known.is_empty() {
        return first_known(counts);
    }
    Reading::Known(known.into_iter().fold(0, u64::saturating_add))
}

/// Reads the rows that were replaced.
pub(super) fn remapped_rows(gpu: &Element) -> Reading<RemappedRows> {
    let section = gpu.child(&["remapped_rows"]);
    let count = |name: &str| whole(in_section(section, &[name]), "");
    let pending = yes(in_section(section, &["remapped_row_pending"]));
    let failed = yes(in_section(section, &["remapped_row_failure"]));
    let numbers = count("remapped_row_corr")
        .and_then(|corrected| count("remapped_row_unc").map(|uncorrected| (corrected, uncorrected)));
    numbers.and_then(|(corrected, uncorrected)| {
        pending.and_then(|pending| {
            failed.map(|failed| RemappedRows {
                corrected,
                uncorrected,
                pending,
                failed,
                spare_rows: spare_rows(in_section(section, &["row_remapper_histogram"])),
            })
        })
    })
}

/// Reads how many banks have how many spare rows; none when one number is missing.
fn spare_rows(section: Option<&Element>) -> Option<SpareRows> {
    let banks = |kind: &str| {
        let name = format!("row_remapper_histogram_{kind}");
        let number = whole(in_section(section, &[&name]), "bank(s)").into_known()?;
        u32::try_from(number).ok()
    };
    Some(SpareRows {
        all: banks("max")?,
        high: banks("high")?,
        partial: banks("partial")?,
        low: banks("low")?,
        none: banks("none")?,
    })
}

/// Reads the pages that are not used any more.
pub(super) fn retired_pages(gpu: &Element) -> Reading<RetiredPages> {
    let section = gpu.child(&["retired_pages"]);
    let count = |kind: &str| whole(in_section(in_section(section, &[kind]), &["retired_count"]), "");
    let pending = first_known(
        ["pending_retirement", "pending_blacklist"].map(|name| yes(in_section(section, &[name]))),
    );
    count("multiple_single_bit_retirement").and_then(|single_bit| {
        count("double_bit_retirement")
            .and_then(|double_bit| pending.map(|pending| RetiredPages { single_bit, double_bit, pending }))
    })
}

fn yes(element: Option<&Element>) -> Reading<bool> {
    switch(element, "Yes", "No")
}
