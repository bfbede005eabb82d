//! Fields of DCGM as people write them down: a name and its value in a table, a list, or a sentence behind the value.

use super::exposition::{Value, number};

/// Every field of DCGM begins so.
const BEGIN: &str = "DCGM_FI_";
/// What fields count that have no unit: behind their value words may stand, for it can be nothing else.
const COUNTS: &[&str] = &["_ECC_", "REMAP", "RETIRED", "XID", "REPLAY"];

/// Reads `| DCGM_FI_X | 5 |`, `- DCGM_FI_X: 5`, `DCGM_FI_X = 5`, `DCGM_FI_X,5`, `DCGM_FI_X  9.6e9, and it rises`,
/// `DCGM_FI_X_VOL / _AGG   0 / 0`, of which the first.
pub(super) fn noted(text: &str) -> Option<Value> {
    let text = text.trim().trim_start_matches(['|', '-', '*', '`', ' ']);
    if !text.starts_with(BEGIN) {
        return None;
    }
    let is_part = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let length = text.bytes().take_while(is_part).count();
    let (name, rest) = text.split_at(length);
    let rest = second_name(rest.trim_start_matches(['`', ' ', '\t']));
    // A sign, blanks, or both stand between name and value.
    let value = rest.trim_start_matches(['`', '|', ':', '=', ',', ';', ' ', '\t']);
    if value.len() == rest.len() && rest.len() == text.len() - length {
        return None;
    }
    let digits =
        value.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b".,+-".contains(byte)).count();
    let (word, behind) = value.split_at(digits);
    let word = word.trim_end_matches([',', '.']);
    let value = number(word)?;
    let behind = behind.trim().trim_matches(['|', '`']).trim();
    let is_count = COUNTS.iter().any(|count| name.contains(count));
    // A rate or another unit is no count: `5/s`, `80 GiB`.
    let is_remark = behind.is_empty() || is_count && !says_a_rate(behind);
    is_remark.then(|| Value { name: name.to_owned(), labels: Vec::new(), number: value, at_s: None })
}

/// Takes a second name off: `/ _AGG_TOTAL`, `/ DCGM_FI_Y`.
fn second_name(rest: &str) -> &str {
    let Some(second) = rest.strip_prefix('/').map(str::trim_start) else {
        return rest;
    };
    let length = second.bytes().take_while(|byte| byte.is_ascii_uppercase() || *byte == b'_').count();
    if length == 0 { rest } else { second[length..].trim_start_matches('`') }
}

/// Returns whether what stands right behind a number makes it a rate, a share, or a larger number.
fn says_a_rate(behind: &str) -> bool {
    const OTHER: &[&str] = &["per", "k", "m", "g", "million", "billion", "thousand", "%", "->", "→", "to"];
    let first = behind.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let is_pair = first == "/";
    !is_pair && (first.starts_with('/') || OTHER.contains(&first.as_str()))
}

#[cfg(test)]
mod tests {
    use super::noted;

    #[test]
    fn fields_are_read_as_people_note_them() {
        for (text, name, number) in [
            ("| DCGM_FI_DEV_ECC_SBE_VOL_TOTAL | 12,345,678 |", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", 12_345_678.0),
            ("- `DCGM_FI_DEV_GPU_UTIL`: 97", "DCGM_FI_DEV_GPU_UTIL", 97.0),
            ("DCGM_FI_DEV_GPU_TEMP = 61", "DCGM_FI_DEV_GPU_TEMP", 61.0),
            ("DCGM_FI_DEV_GPU_TEMP,61", "DCGM_FI_DEV_GPU_TEMP", 61.0),
            ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL   3.5e8, and it goes on", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", 3.5e8),
            ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL / _AGG_TOTAL   0 / 2", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0.0),
            ("DCGM_FI_DEV_ROW_REMAP_FAILURE  0 (since boot)", "DCGM_FI_DEV_ROW_REMAP_FAILURE", 0.0),
        ] {
            let value = noted(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((value.name.as_str(), value.number), (name, number), "{text}");
        }
    }

    #[test]
    fn rates_and_other_units_are_no_values() {
        for text in [
            "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL 17,000/s",
            "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL 17 per second",
            "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL 5 -> 9",
            "DCGM_FI_DEV_FB_USED 80 GiB",
            "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL rises",
            "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
            "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL 12k",
            "DCGM_FI_ is how they begin",
            "ECC_SBE_VOL_TOTAL 5",
        ] {
            assert_eq!(noted(text), None, "{text}");
        }
    }
}
