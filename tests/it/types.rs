//! Types that pay: what is learned, what is remembered, what editors are given, and what programs are
//! checked against.

mod checked;
mod learned;
mod remembered;
mod watched;
