//! Whether a program can be run under control.
