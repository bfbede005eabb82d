//! PCI addresses as the kernel, the driver and their tools write them.

/// Returns a PCI address in the one form that the model uses: `0000:65:00.0`, lower case, four-digit domain.
///
/// Understands a domain of any width or none, and a missing function (`65:00`, `00000000:65:00.0`).
pub fn pci_address(text: &str) -> Option<String> {
    let (slot, function) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = slot.rsplit(':');
    let device = hexadecimal(parts.next()?, 2, 2)?;
    let bus = hexadecimal(parts.next()?, 2, 2)?;
    let domain = parts.next().map_or(Some(0), |domain| hexadecimal(domain, 4, 8))?;
    if parts.next().is_some() {
        return None;
    }
    let function = hexadecimal(function, 1, 1)?;
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

fn hexadecimal(digits: &str, fewest: usize, most: usize) -> Option<u32> {
    let has_digits_only = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_long_enough = (fewest..=most).contains(&digits.len());
    (has_digits_only && is_long_enough).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::pci_address;

    #[test]
    fn every_form_becomes_one() {
        for (text, expected) in [
            ("0000:65:00", "0000:65:00.0"),
            ("00000000:B3:00.0", "0000:b3:00.0"),
            ("0018:01:00", "0018:01:00.0"),
            ("18:00.0", "0000:18:00.0"),
            ("65:00", "0000:65:00.0"),
            ("00010000:01:00.0", "10000:01:00.0"),
            ("0000:00:08.1", "0000:00:08.1"),
        ] {
            assert_eq!(pci_address(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn other_words_are_no_address() {
        for text in [
            "",
            "invalid-bdf.0",
            "0000",
            "0000:65",
            "1:2:3:4.0",
            "0000:65:00.",
            "0000:65:00.12",
            "+000:65:00",
        ] {
            assert_eq!(pci_address(text), None, "{text}");
        }
    }
}
