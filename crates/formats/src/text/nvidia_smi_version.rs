//! Output of `nvidia-smi --version`.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{NvmlSample, ReadTime, Sample, Section};

use super::nvidia_scene::{container_of, scene_of};
use super::{Block, Context};
use crate::Format;
use crate::paste::Line;

/// Reads the versions that begin with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let (first, _) = version(&lines.first()?.text)?;
    let begins =
        first.eq_ignore_ascii_case("nvidia-smi version") || first.eq_ignore_ascii_case("nvml version");
    if !begins {
        return None;
    }
    let mut nvml = NvmlSample::default();
    let mut taken = 0;
    for line in lines {
        let Some((label, version)) = version(&line.text) else {
            break;
        };
        let version: Reading<String> = version.map(str::to_owned).into();
        match label.to_ascii_lowercase().as_str() {
            "nvidia-smi version" => {}
            "nvml version" => nvml.library_version = version,
            "driver version" | "kmd version" => nvml.driver_version = version.or(nvml.driver_version),
            "cuda version" | "cuda umd version" => nvml.cuda_version = version.or(nvml.cuda_version),
            _ => break,
        }
        taken += 1;
    }
    let mut sample = Sample::empty(ReadTime::default());
    sample.nvml = Section { read: ReadTime::default(), value: Reading::Known(nvml) };
    let mut scene = scene_of(&[sample], Format::NvidiaSmiVersion, false);
    // It does not say whether the library could be asked for cards.
    scene.machine.driver.library = Reading::default();
    scene.machine.container = context.command.and_then(container_of).map(str::to_owned).into();
    Some(Block { lines: taken, scene, remarks: Vec::new() })
}

/// Splits `DRIVER version  : 590.48.01`; words instead of a version are none.
fn version(text: &str) -> Option<(&str, Option<&str>)> {
    let (label, version) = text.trim().split_once(" :")?;
    let label = label.trim();
    let is_label = label.len() < 30 && label.to_ascii_lowercase().ends_with("version");
    let version = version.trim();
    let is_version = version.starts_with(|first: char| first.is_ascii_digit());
    is_label.then_some((label, Some(version).filter(|_| is_version)))
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;

    use super::super::{Block, Context};
    use super::read;
    use crate::paste::Paste;

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    #[test]
    fn versions_are_read() {
        let text = "NVIDIA-SMI version  : 590.48.01\nNVML version        : 590.48\nDRIVER version      : 590.48.01\n\
                    CUDA Version        : 13.1\n\n";
        let block = block(text).unwrap();
        let driver = &block.scene.machine.driver;
        assert_eq!((block.lines, &driver.version), (4, &Reading::Known("590.48.01".into())));
        assert_eq!(
            (&driver.library_version, &driver.cuda_version),
            (&Reading::Known("590.48".into()), &Reading::Known("13.1".into()))
        );
        assert!(driver.library.is_not_in_source());
        let later = "NVIDIA-SMI version  : 610.1\nDRIVER version      : Deprecated, see \"KMD version\" instead\nKMD version : 610.62\n";
        assert_eq!(self::block(later).unwrap().scene.machine.driver.version, Reading::Known("610.62".into()));
    }

    #[test]
    fn other_texts_are_none_of_these() {
        assert!(block("Driver Version  : 535.1\n").is_none() && block("OS version : 5\n").is_none());
    }
}
