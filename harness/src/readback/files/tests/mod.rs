//! Tests of reading stores of files, on real files.
