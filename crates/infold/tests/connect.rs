//! `infold connect` and `infold disconnect`, on homes that are not the person's: what changes in agents'
//! files, and that all of it can be taken back.

mod back;
mod doctor;
mod files;
mod refused;
mod service;
