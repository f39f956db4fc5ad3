//! Rebuilds the crate when a case file appears or goes: `include_dir!` sees changed files, not new ones.

fn main() {
    println!("cargo:rerun-if-changed=../cases");
    println!("cargo:rerun-if-changed=targets");
}
