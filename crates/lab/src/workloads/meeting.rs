//! Where the ranks of a member meet after each step, over real sockets: everybody says that it is there and hears when all are.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::WorkError;
use super::actor::Actor;

const HERE: u8 = 1;
const JOIN_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// One rank's connections: rank 0 has one to each other rank, every other rank has one to rank 0.
pub(super) struct Meeting {
    others: Vec<TcpStream>,
    is_first: bool,
}

impl Meeting {
    /// Connects rank `rank` of `world` ranks with the others.
    pub(super) fn join(actor: &Actor, rank: usize, world: usize) -> Result<Self, WorkError> {
        let others =
            if rank == 0 { await_others(actor, world) } else { connect(actor).map(|stream| vec![stream]) };
        Ok(Self { others: others.map_err(WorkError::Meet)?, is_first: rank == 0 })
    }

    /// Says that this rank is there and waits until all are.
    pub(super) fn meet(&mut self) -> Result<(), WorkError> {
        if !self.is_first {
            self.say()?;
        }
        let mut byte = [0];
        for other in &mut self.others {
            other.read_exact(&mut byte).map_err(WorkError::Meet)?;
        }
        if self.is_first {
            self.say()?;
        }
        Ok(())
    }

    fn say(&mut self) -> Result<(), WorkError> {
        for other in &mut self.others {
            other.write_all(&[HERE]).map_err(WorkError::Meet)?;
        }
        Ok(())
    }
}

/// The file with the port of rank 0.
fn port_file(actor: &Actor) -> PathBuf {
    actor.directory.checkpoints().join(&actor.specification.member).join("port")
}

fn await_others(actor: &Actor, world: usize) -> io::Result<Vec<TcpStream>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let file = port_file(actor);
    let draft = file.with_extension("draft");
    fs::write(&draft, listener.local_addr()?.port().to_string())?;
    fs::rename(&draft, &file)?;
    let mut others = Vec::new();
    while others.len() + 1 < world {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        others.push(stream);
    }
    Ok(others)
}

fn connect(actor: &Actor) -> io::Result<TcpStream> {
    let deadline = Instant::now() + JOIN_WITHIN;
    let file = port_file(actor);
    while !file.exists() {
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let text = fs::read_to_string(&file)?;
    let port: u16 = text.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
