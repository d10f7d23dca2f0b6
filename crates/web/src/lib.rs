//! The web page, as files in the binary. The build script makes them of the sources in `page/`, where Node is there.
//! Used by the server, which alone knows how they are sent.

pub mod page;
