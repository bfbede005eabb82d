//! Members of a job that exchange with each other: who spins, who works, who rests.

use std::collections::BTreeSet;

use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Client, Process, Scene};

use super::cards::{Activity, Holder, activity};
use super::effort::{Effort, effort};
use super::peers::{Job, jobs};

/// A context that is no more than this part of what a process holds elsewhere is a stray one.
const STRAY_PART: u64 = 4;

/// A member on its card.
#[derive(Clone, Copy)]
pub(crate) struct Member<'scene> {
    pub(crate) holder: Holder<'scene>,
    pub(crate) card: &'scene Card,
    /// Kernel time over the window, in percent.
    pub(crate) busy: f64,
    pub(crate) effort: Effort,
}

impl<'scene> Member<'scene> {
    /// Returns whether kernels run on its card nearly all the time and draw little: it may wait on the card.
    pub(crate) fn may_spin(&self, limits: &Limits) -> bool {
        self.busy >= limits.busy_percent_min && self.effort.for_work < limits.exchange_power_share_max
    }

    /// Returns whether its card does nothing.
    pub(crate) fn rests(&self, limits: &Limits) -> bool {
        activity(self.card, limits) == Activity::Rests
    }

    /// Returns its process, where that can be seen.
    pub(crate) fn process(&self) -> Option<&'scene Process> {
        self.holder.process
    }
}

/// A job whose members exchange, each alone on a card of which utilization and power are known.
pub(crate) struct Exchanging<'scene> {
    pub(crate) job: Job<'scene>,
    pub(crate) members: Vec<Member<'scene>>,
}

/// Returns the jobs of which members exchange with each other, as far as everything about their cards is known.
///
/// A job of which a card is shared with somebody else is left out: what its members wait for cannot be told.
pub(crate) fn exchanging<'scene>(scene: &'scene Scene, limits: &Limits) -> Vec<Exchanging<'scene>> {
    let jobs = jobs(scene, limits);
    let mut found = Vec::new();
    for job in jobs {
        if !job.is_certain || !job.is_collective() {
            continue;
        }
        let own: Vec<Holder<'scene>> =
            job.members.iter().copied().filter(|holder| !is_stray(holder, &job.members, limits)).collect();
        let members: Vec<Member<'scene>> =
            own.iter().filter_map(|holder| member(scene, *holder, limits)).collect();
        let works = |client: &Client| {
            client.sm.known().is_some_and(|work| work.mean.0 > limits.contention_percent_min)
        };
        let is_alone = job.members.iter().all(|holder| {
            !holder.card.known_clients().iter().any(|client| !job.has(client.pid) && works(client))
        });
        let cards: BTreeSet<u32> = members.iter().map(|member| member.card.index).collect();
        if members.len() == own.len() && cards.len() == members.len() && is_alone {
            found.push(Exchanging { job, members });
        }
    }
    found
}

/// Returns whether a holder is a context that a member made on another's card without working there: a program that does
/// not say which card it means makes one on the first.
fn is_stray(holder: &Holder<'_>, members: &[Holder<'_>], limits: &Limits) -> bool {
    let works = holder.client.sm.known().is_some_and(|work| work.mean.0 > limits.idle_percent_max);
    let is_same_card = |other: &Holder<'_>| other.card.index == holder.card.index;
    let has_much_more_elsewhere = members.iter().any(|other| {
        let is_own = other.client.pid == holder.client.pid && !is_same_card(other);
        is_own && other.bytes().0 / STRAY_PART >= holder.bytes().0
    });
    let is_anothers =
        members.iter().any(|other| other.client.pid != holder.client.pid && is_same_card(other));
    !works && has_much_more_elsewhere && is_anothers
}

fn member<'scene>(scene: &'scene Scene, holder: Holder<'scene>, limits: &Limits) -> Option<Member<'scene>> {
    let card = scene.card(holder.card.parent.unwrap_or(holder.card.index))?;
    let busy = card.busy.known()?.mean.0;
    Some(Member { holder, card, busy, effort: effort(scene, card, limits).ok()? })
}
