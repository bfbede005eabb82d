//! Field values about NVLink.

use std::ffi::c_uint;

use crate::Code;
use crate::fields::Figure;
use crate::nvlink::{MOST_LINKS, errors};
use crate::session::Asked;

/// The scope that stands for all links together.
const ALL_LINKS: c_uint = c_uint::MAX;
/// Bytes that travel for each byte of data.
const OVERHEAD: f64 = 1.12;

/// Which errors a range of fields counts.
#[derive(Clone, Copy)]
enum Kind {
    Checksum,
    DataChecksum,
    Replay,
    Recovery,
    Memory,
}

/// The figure of a field, if it is one about NVLink.
pub(crate) fn figure(asked: &Asked, field: c_uint, scope: c_uint) -> Option<Result<Figure, Code>> {
    if let Some((kind, link)) = counted(field) {
        return Some(count(asked, kind, link).map(Figure::UnsignedLongLong));
    }
    Some(match field {
        84..=89 => speed(asked, field - 84),
        132..=137 => speed(asked, field - 132 + 6),
        90 => speed(asked, 0),
        91 => links(asked).map(Figure::UnsignedInt),
        138 | 139 => exchanged_kib(asked, scope, 1.0),
        140 | 141 => exchanged_kib(asked, scope, OVERHEAD),
        161 => errors(asked, scope).map(|errors| Figure::UnsignedLongLong(errors.replays)),
        162 => errors(asked, scope).map(|errors| Figure::UnsignedLongLong(errors.recoveries)),
        163 => errors(asked, scope).map(|errors| Figure::UnsignedLongLong(errors.checksum)),
        164 => speed(asked, scope),
        165 => errors(asked, scope)
            .map(|_| Figure::UnsignedInt(c_uint::from(asked.machine.board().is_link_up(asked.card, scope)))),
        166 => errors(asked, scope).and_then(|_| version(asked)).map(Figure::UnsignedInt),
        202 | 204 => newer(asked).and_then(|()| share_of_bytes(asked, scope)).map(Figure::UnsignedLongLong),
        208 | 219 => newer(asked)
            .and_then(|()| errors(asked, scope))
            .map(|errors| Figure::UnsignedLongLong(errors.checksum)),
        211 => newer(asked)
            .and_then(|()| errors(asked, scope))
            .map(|errors| Figure::UnsignedLongLong(errors.replays)),
        213 | 215 => newer(asked)
            .and_then(|()| errors(asked, scope))
            .map(|errors| Figure::UnsignedLongLong(errors.recoveries)),
        206 | 207 | 209 | 210 | 212 | 214 => {
            newer(asked).and_then(|()| errors(asked, scope)).map(|_| Figure::UnsignedLongLong(0))
        }
        _ => return None,
    })
}

/// The counter that a field means, and its link; nothing in place of a link for the total.
fn counted(field: c_uint) -> Option<(Kind, Option<c_uint>)> {
    const FIRST_SIX: [(c_uint, Kind); 4] =
        [(32, Kind::Checksum), (39, Kind::DataChecksum), (46, Kind::Replay), (53, Kind::Recovery)];
    const NEXT_SIX: [(c_uint, Kind); 4] =
        [(96, Kind::Checksum), (102, Kind::DataChecksum), (108, Kind::Replay), (114, Kind::Recovery)];
    for (first, kind) in FIRST_SIX {
        if (first..first + 6).contains(&field) {
            return Some((kind, Some(field - first)));
        }
        if field == first + 6 {
            return Some((kind, None));
        }
    }
    for (first, kind) in NEXT_SIX {
        if (first..first + 6).contains(&field) {
            return Some((kind, Some(field - first + 6)));
        }
    }
    match field {
        148..=159 => Some((Kind::Memory, Some(field - 148))),
        160 => Some((Kind::Memory, None)),
        _ => None,
    }
}

fn count(asked: &Asked, kind: Kind, link: Option<c_uint>) -> Result<u64, Code> {
    let of_link = |link: c_uint| -> Result<u64, Code> {
        let errors = errors(asked, link)?;
        Ok(match kind {
            Kind::Checksum => errors.checksum,
            Kind::Replay => errors.replays,
            Kind::Recovery => errors.recoveries,
            Kind::DataChecksum | Kind::Memory => 0,
        })
    };
    match link {
        Some(link) => of_link(link),
        None => (0..links(asked)?).map(of_link).sum(),
    }
}

fn links(asked: &Asked) -> Result<c_uint, Code> {
    asked.card.profile.nvlink.as_ref().map(|nvlink| nvlink.links.min(MOST_LINKS)).ok_or(Code::NOT_SUPPORTED)
}

fn version(asked: &Asked) -> Result<c_uint, Code> {
    asked.card.profile.nvlink.as_ref().map(|nvlink| nvlink.version).ok_or(Code::NOT_SUPPORTED)
}

/// Some fields came with the fifth version.
fn newer(asked: &Asked) -> Result<(), Code> {
    if version(asked)? >= 5 { Ok(()) } else { Err(Code::NOT_SUPPORTED) }
}

fn speed(asked: &Asked, link: c_uint) -> Result<Figure, Code> {
    errors(asked, link)?;
    Ok(Figure::UnsignedInt(asked.machine.board().link_speed(asked.card, link)))
}

fn exchanged_kib(asked: &Asked, scope: c_uint, overhead: f64) -> Result<Figure, Code> {
    let bytes = if scope == ALL_LINKS {
        links(asked)?;
        asked.look().exchanged_bytes
    } else {
        share_of_bytes(asked, scope)?
    };
    Ok(Figure::UnsignedLongLong(whole(bytes as f64 * overhead / 1024.0)))
}

/// What one link carried: all that are up carry the same.
fn share_of_bytes(asked: &Asked, link: c_uint) -> Result<u64, Code> {
    errors(asked, link)?;
    let board = asked.machine.board();
    if !board.is_link_up(asked.card, link) {
        return Ok(0);
    }
    Ok(asked.look().exchanged_bytes / u64::from(board.links_up(asked.card).max(1)))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, never negative")]
fn whole(value: f64) -> u64 {
    value as u64
}
