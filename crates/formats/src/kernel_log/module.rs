//! Lines about code that the kernel may refuse: signatures, lock-down, secure boot.

use gpuwhy_model::sample::KernelFact;

/// Reads lines about signatures of modules and about secure boot.
///
/// `module verification failed … tainting kernel` is no refusal: that module was loaded.
pub(super) fn fact(text: &str) -> Option<KernelFact> {
    let lower = text.to_ascii_lowercase();
    if is_refusal(&lower) {
        return Some(if lower.contains("nvidia") {
            KernelFact::ModuleRefused
        } else {
            KernelFact::UnnamedModuleRefused
        });
    }
    if is_of_other_kernel(&lower) {
        return Some(KernelFact::ModuleOfOtherKernel);
    }
    if lower.contains("secure boot enabled") || lower.contains("locked down from efi secure boot") {
        return Some(KernelFact::SecureBoot { is_enabled: true });
    }
    lower.contains("secure boot disabled").then_some(KernelFact::SecureBoot { is_enabled: false })
}

/// Returns whether the kernel, or what loads its modules, says in lower case that one was refused for its signature.
pub(crate) fn is_refusal(lower: &str) -> bool {
    let is_refused = |words: &str| {
        lower.contains(words) && ["restricted", "rejected", "denied"].iter().any(|end| lower.contains(end))
    };
    let for_its_key = ["key was rejected", "required key not available", "not signed with a trusted key"];
    for_its_key.iter().any(|words| lower.contains(words))
        || is_refused("unsigned module")
        || is_refused("module with unavailable key")
        || is_refused("module with unsupported crypto")
}

/// Returns whether the kernel, or what loads its modules, says in lower case that NVIDIA's was built for another kernel.
fn is_of_other_kernel(lower: &str) -> bool {
    let is_of_driver = lower.starts_with("nvidia: ")
        || lower.contains("'nvidia'")
        || lower.contains(" nvidia: ")
        || lower.contains("nvidia.ko");
    let does_not_fit = lower.contains("version magic") && lower.contains("should be")
        || lower.contains("disagrees about version of symbol module_layout")
        || lower.contains("exec format error")
        || lower.contains("invalid module format");
    is_of_driver && does_not_fit
}

#[cfg(test)]
mod tests {
    use super::fact;
    use gpuwhy_model::sample::KernelFact;

    #[test]
    fn refused_modules_are_recognised() {
        for (text, expected) in [
            (
                "Lockdown: modprobe: unsigned module loading of nvidia is restricted; see man kernel_lockdown.7",
                Some(KernelFact::ModuleRefused),
            ),
            (
                "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
                Some(KernelFact::UnnamedModuleRefused),
            ),
            ("nvidia: Loading of unsigned module is rejected", Some(KernelFact::ModuleRefused)),
            ("Loading of module with unavailable key is rejected", Some(KernelFact::UnnamedModuleRefused)),
            (
                "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
                Some(KernelFact::ModuleRefused),
            ),
            ("PKCS#7 signature not signed with a trusted key", Some(KernelFact::UnnamedModuleRefused)),
            (
                "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
                None,
            ),
            ("nvidia: loading out-of-tree module taints kernel.", None),
            ("Lockdown: swapper: hibernation is restricted", None),
            (
                "Kernel is locked down from EFI Secure Boot mode; see man kernel_lockdown.7",
                Some(KernelFact::SecureBoot { is_enabled: true }),
            ),
            ("secureboot: Secure boot disabled", Some(KernelFact::SecureBoot { is_enabled: false })),
            ("secureboot: Secure boot could not be determined (mode 0)", None),
            (
                "nvidia: version magic '5.15.0-91-generic SMP mod_unload ' should be '6.5.0-18-generic SMP mod_unload '",
                Some(KernelFact::ModuleOfOtherKernel),
            ),
            (
                "modprobe: ERROR: could not insert 'nvidia': Exec format error",
                Some(KernelFact::ModuleOfOtherKernel),
            ),
            ("zfs: disagrees about version of symbol module_layout", None),
        ] {
            assert_eq!(fact(text), expected, "{text}");
        }
    }
}
