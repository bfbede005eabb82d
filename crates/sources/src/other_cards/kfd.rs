//! Memory that processes of AMD's compute stack hold on each card.

use std::collections::BTreeMap;
use std::path::Path;

use gpuwhy_formats::proc::whole_number;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Access;

use crate::file::{names_in, read_and_parse, read_path};

/// Returns the bytes that each process holds on each card, by the name of the card's render node.
pub(super) fn memory(sys: &Path, buffer: &mut Vec<u8>) -> BTreeMap<(Pid, String), u64> {
    let kfd = sys.join("class/kfd/kfd");
    let mut held = BTreeMap::new();
    let Ok(processes) = names_in(&kfd.join("proc")) else {
        return held;
    };
    let nodes = render_nodes(&kfd.join("topology/nodes"), buffer);
    for name in processes {
        let Ok(pid) = name.parse().map(Pid) else {
            continue;
        };
        for (id, node) in &nodes {
            let path = kfd.join("proc").join(&name).join(format!("vram_{id}"));
            let bytes = read_and_parse(&path, buffer, Access::Root, whole_number).into_known();
            if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
                held.insert((pid, node.clone()), bytes);
            }
        }
    }
    held
}

/// Returns the render node of each card by the number that the compute stack gives it.
fn render_nodes(topology: &Path, buffer: &mut Vec<u8>) -> BTreeMap<u64, String> {
    let mut nodes = BTreeMap::new();
    for name in names_in(topology).unwrap_or_default() {
        let place = topology.join(name);
        let id = read_and_parse(&place.join("gpu_id"), buffer, Access::Root, whole_number).into_known();
        // Processors are nodes too, with the number 0.
        let Some(id) = id.filter(|id| *id > 0) else {
            continue;
        };
        let Ok(properties) = read_path(&place.join("properties"), buffer) else {
            continue;
        };
        let properties = String::from_utf8_lossy(properties);
        let minor = properties.lines().find_map(|line| line.strip_prefix("drm_render_minor "));
        if let Some(minor) = minor {
            nodes.insert(id, format!("renderD{}", minor.trim()));
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::memory;
    use gpuwhy_model::process::Pid;

    #[test]
    fn memory_is_found_by_the_render_node() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join("class/kfd/kfd").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("topology/nodes/0/gpu_id", "0\n");
        write("topology/nodes/1/gpu_id", "51110\n");
        write("topology/nodes/1/properties", "simd_count 416\ndrm_render_minor 129\n");
        write("proc/4242/vram_51110", "1048576\n");
        write("proc/77/vram_51110", "0\n");
        write("proc/x/vram_51110", "1\n");
        let held = memory(root.path(), &mut Vec::new());
        assert_eq!(held.into_iter().collect::<Vec<_>>(), [((Pid(4242), "renderD129".to_owned()), 1_048_576)]);
    }
}
