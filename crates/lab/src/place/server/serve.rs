//! The process behind a server: answers requests for so many bytes, all of them together at a given speed.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::network::{NetworkError, at_the_far_end};
use super::{Server, address_file, ends};
use crate::place::BoxDirectory;

/// Bytes that go out together.
const PORTION: usize = 32 * 1024;

/// Serves until it dies; `ready` is called once it listens.
///
/// # Errors
/// Fails when the cable cannot be laid or nobody can be listened to.
pub fn serve(
    directory: &BoxDirectory,
    server: &Server,
    ready: impl FnOnce() + Send,
) -> Result<(), NetworkError> {
    at_the_far_end(|| {
        let (_, address) = ends(std::process::id());
        let listener = TcpListener::bind(address)?;
        fs::write(address_file(directory, &server.name), address.to_string())?;
        ready();
        let line =
            Arc::new(Line { rate: server.bytes_per_second.max(1), free_at: Mutex::new(Instant::now()) });
        let latency = Duration::from_millis(server.latency_ms);
        for connection in listener.incoming() {
            let (connection, line) = (connection?, Arc::clone(&line));
            std::thread::Builder::new().name("connection".to_owned()).spawn(move || {
                // A reader that dies breaks its connection; the others go on.
                let _ = answer(&connection, &line, latency);
            })?;
        }
        Ok(())
    })
}

/// A line of limited speed, over which one portion goes after the other.
struct Line {
    rate: u64,
    free_at: Mutex<Instant>,
}

impl Line {
    /// Waits until `length` bytes have gone over the line.
    fn carry(&self, length: usize) {
        let done = {
            let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
            *free_at =
                (*free_at).max(Instant::now()) + Duration::from_secs_f64(length as f64 / self.rate as f64);
            *free_at
        };
        std::thread::sleep(done.saturating_duration_since(Instant::now()));
    }
}

fn answer(connection: &TcpStream, line: &Line, latency: Duration) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut requests = BufReader::new(connection.try_clone()?);
    let mut answers = connection;
    let portion = vec![0x96; PORTION];
    while let Some(length) = next_request(&mut requests)? {
        std::thread::sleep(latency);
        write!(answers, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")?;
        let mut left = length;
        while left > 0 {
            let part = usize::try_from(left).unwrap_or(PORTION).min(PORTION);
            line.carry(part);
            answers.write_all(&portion[..part])?;
            left -= part as u64;
        }
    }
    Ok(())
}

/// How many bytes the next request asks for; nothing at the end of the connection.
fn next_request(requests: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut length = None;
    loop {
        let mut text = String::new();
        if requests.read_line(&mut text)? == 0 {
            return Ok(None);
        }
        if text == "\r\n" {
            return length.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        if let Some(path) = text.strip_prefix("GET /data/") {
            length = path.split(' ').next().and_then(|length| length.parse().ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::next_request;

    #[test]
    fn a_request_says_how_many_bytes() {
        let mut text = &b"GET /data/4096 HTTP/1.1\r\nHost: x\r\n\r\nGET /data/1 HTTP/1.1\r\n\r\n"[..];
        assert_eq!(next_request(&mut text).unwrap(), Some(4096));
        assert_eq!(next_request(&mut text).unwrap(), Some(1));
        assert_eq!(next_request(&mut text).unwrap(), None);
        assert!(next_request(&mut &b"GET /other HTTP/1.1\r\n\r\n"[..]).is_err());
    }
}
