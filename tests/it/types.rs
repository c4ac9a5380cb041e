//! Types of tools: learned from results, remembered across restarts, written for editors, and used to check programs.

mod checked;
mod learned;
mod remembered;
mod watched;
