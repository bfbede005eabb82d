//! A reader of a server: one connection, one request per batch.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddrV4, TcpStream};

use super::address_file;
use crate::place::BoxDirectory;

/// A connection to a server of the box.
pub struct Download {
    connection: BufReader<TcpStream>,
    host: String,
}

impl Download {
    /// Connects to the server called `name`.
    ///
    /// # Errors
    /// Fails when there is none, or it does not answer.
    pub fn open(directory: &BoxDirectory, name: &str) -> io::Result<Self> {
        let text = fs::read_to_string(address_file(directory, name))?;
        let address: SocketAddrV4 = text.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        let connection = BufReader::new(TcpStream::connect(address)?);
        Ok(Self { connection, host: address.ip().to_string() })
    }

    /// Asks for `length` bytes and reads them block by block.
    ///
    /// # Errors
    /// Fails when the connection breaks or the server says something else.
    pub fn read(&mut self, length: u64, block: &mut [u8]) -> io::Result<()> {
        let request = format!("GET /data/{length} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        self.connection.get_mut().write_all(request.as_bytes())?;
        self.skip_head()?;
        let mut left = length;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(block.len()).min(block.len());
            let got = self.connection.read(&mut block[..wanted])?;
            if got == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            left -= got as u64;
        }
        Ok(())
    }

    fn skip_head(&mut self) -> io::Result<()> {
        loop {
            let mut line = String::new();
            if self.connection.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line == "\r\n" {
                return Ok(());
            }
        }
    }
}
