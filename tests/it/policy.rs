//! Rules with conditions: the same answer on every way, explained, and shown with the settings in force.

mod budget;
mod explain;
mod settings;
mod walk;
