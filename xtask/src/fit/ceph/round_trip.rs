//! A round trip on the loopback interface, which is the network between the daemons.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

const ROUND_TRIPS: u32 = 5_000;

/// The mean of one byte there and back over TCP, in µs.
pub fn on_loopback() -> anyhow::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        // Ends when the client closes its side.
        while server.read_exact(&mut byte).is_ok() && server.write_all(&byte).is_ok() {}
    });
    let begun = Instant::now();
    let mut byte = [0];
    for _ in 0..ROUND_TRIPS {
        client.write_all(&byte)?;
        client.read_exact(&mut byte)?;
    }
    let elapsed = begun.elapsed();
    drop(client);
    let _ = echo.join();
    Ok(elapsed.as_secs_f64() * 1e6 / f64::from(ROUND_TRIPS))
}
