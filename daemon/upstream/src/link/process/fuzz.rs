//! Random input on the pipes of a server.

mod stdio;
