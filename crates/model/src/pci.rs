//! PCI addresses, in one form: tools write their domain with four digits, eight or none.

/// Returns a PCI address in the form of the kernel: four-digit domain, lower case.
pub fn normal_address(address: &str) -> String {
    let address = address.to_ascii_lowercase();
    let Some((domain, rest)) = address.split_once(':') else {
        return address;
    };
    if !rest.contains(':') {
        return format!("0000:{address}");
    }
    format!("{:0>4}:{rest}", domain.trim_start_matches('0'))
}

/// Returns a PCI address without its function: `0000:65:00`.
pub fn slot(address: &str) -> String {
    let address = normal_address(address);
    address.rsplit_once('.').map_or(address.clone(), |(slot, _)| slot.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{normal_address, slot};

    #[test]
    fn addresses_are_comparable() {
        assert_eq!(normal_address("00000000:65:00.0"), "0000:65:00.0");
        assert_eq!(normal_address("0000:65:00.0"), "0000:65:00.0");
        assert_eq!(normal_address("65:00.0"), "0000:65:00.0");
        assert_eq!(normal_address("0018:C1:00.0"), "0018:c1:00.0");
        assert_eq!(slot("00000000:65:00.0"), "0000:65:00");
        assert_eq!(slot("0000:65:00"), "0000:65:00");
    }
}
