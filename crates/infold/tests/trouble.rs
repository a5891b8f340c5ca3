//! What an operator runs into. The daemon says what is wrong and what to do, and goes on once it is put right.

mod folders;
