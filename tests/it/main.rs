//! The whole of muxd from outside, as its users have it. One binary, one module a subject.

mod smoke;
