//! What an operator runs into: a full disk, a database that was cut short, files that do not belong together, folders
//! that are not infold's. The daemon says what is wrong and what to do, and goes on once it is put right.

mod disk;
mod faults;
mod files;
mod folders;
