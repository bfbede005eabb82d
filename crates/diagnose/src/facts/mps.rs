//! Cards that several programs share at the same time through a server.

use gpuwhy_model::sample::ClientKind;
use gpuwhy_model::scene::Client;

/// Returns whether a client is the server that shares cards between programs (MPS), or a program that is in through it.
pub(crate) fn is_of_mps(client: &Client) -> bool {
    let is_server = |name: &String| {
        let program = name.split(' ').next().unwrap_or_default();
        program.rsplit('/').next().is_some_and(|program| program.starts_with("nvidia-cuda-mps"))
    };
    client.kind == ClientKind::Mps || client.name.known().is_some_and(is_server)
}
