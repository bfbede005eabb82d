//! Outputs of Slurm's tools in their variants, with values that were read by eye.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod accounting;
#[path = "../beside/mod.rs"]
mod beside;
mod broken;
mod cluster;
mod documents;
mod files;
mod queue;

use gpuwhy_formats::Format;
use gpuwhy_formats::text::{Understood, understand};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, Job, Scene};

/// Returns what a text of one output says.
fn one(text: &str, format: Format) -> Scene {
    let mut understood = understand(text);
    let formats: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
    assert_eq!(formats, [format], "{text}");
    understood.pieces.remove(0).scene
}

fn jobs(text: &str, format: Format) -> Vec<Job> {
    one(text, format).jobs
}

fn known<T: Clone>(reading: &Reading<T>) -> Option<T> {
    reading.known().cloned()
}

fn node<'scene>(scene: &'scene Scene, name: &str) -> &'scene ClusterNode {
    scene.cluster.iter().find(|node| node.name == name).unwrap()
}

fn formats(understood: &Understood) -> Vec<Format> {
    understood.pieces.iter().map(|piece| piece.format).collect()
}
