//! Policy rules with conditions: the same decision for every way of calling, explanations, and effective settings.

mod add;
mod budget;
mod explain;
mod settings;
mod walk;
mod ways;
