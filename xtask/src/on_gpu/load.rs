//! What a card is given to do while gpuwhy looks: a process of its own (`cargo xtask __on-gpu-load`).

use std::time::{Duration, Instant};

use anyhow::Result;

use super::cuda::Card;

/// Memory that every load holds, so that it is worth naming.
const HELD_BYTES: usize = 2 << 30;

/// A kernel of about this length keeps the card busy without a gap.
const KERNEL: Duration = Duration::from_millis(20);

/// How long a starved load waits between two kernels.
const STARVED_WAIT: Duration = Duration::from_millis(60);

/// A known load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// Holds memory and does nothing
    Hold,
    /// Computes on every multiprocessor
    Compute,
    /// Reads memory as fast as it can
    Bandwidth,
    /// Computes on one multiprocessor, without a gap
    OneSm,
    /// Computes a quarter of the time, and waits in between
    Starved,
}

impl Load {
    /// All of them, in the order in which they are shown.
    pub(super) const ALL: &[Self] = &[Self::Hold, Self::Compute, Self::Bandwidth, Self::OneSm, Self::Starved];
}

/// Takes the first card and does the load for a time.
///
/// # Errors
/// Fails when the card cannot be taken or a kernel fails.
pub(crate) fn run(load: Load, length: Duration) -> Result<()> {
    let card = Card::take()?;
    let buffer = card.allocate(HELD_BYTES)?;
    // Others wait for this line.
    println!("ready");
    let end = Instant::now() + length;
    let blocks = if load == Load::OneSm { 1 } else { card.multiprocessors * 8 };
    let mut kernels = Paced { rounds: 1000 };
    while Instant::now() < end {
        match load {
            Load::Hold => std::thread::sleep(KERNEL),
            Load::Compute | Load::OneSm => kernels.run(|rounds| card.compute(buffer, blocks, rounds))?,
            Load::Bandwidth => kernels.run(|rounds| card.read(buffer, rounds))?,
            Load::Starved => {
                kernels.run(|rounds| card.compute(buffer, blocks, rounds))?;
                std::thread::sleep(STARVED_WAIT);
            }
        }
    }
    Ok(())
}

/// Finds out how many rounds make a kernel of the wanted length.
struct Paced {
    rounds: u32,
}

impl Paced {
    fn run(&mut self, kernel: impl FnOnce(u32) -> Result<()>) -> Result<()> {
        let begun = Instant::now();
        kernel(self.rounds)?;
        let took = begun.elapsed();
        if took < KERNEL / 2 {
            self.rounds = self.rounds.saturating_mul(2);
        } else if took > KERNEL * 2 {
            self.rounds = (self.rounds / 2).max(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Paced;

    #[test]
    fn kernels_grow_until_they_are_long_enough() {
        let mut kernels = Paced { rounds: 8 };
        kernels.run(|_| Ok(())).unwrap();
        assert_eq!(kernels.rounds, 16);
        kernels
            .run(|_| {
                // Stands for a kernel that takes too long.
                std::thread::sleep(Duration::from_millis(45));
                Ok(())
            })
            .unwrap();
        assert_eq!(kernels.rounds, 8);
    }
}
