//! Builds the agent and hands it to `include_bytes!`, so that one executable is the whole installation.
//!
//! The agent is a member of this workspace and needs this very package as a library, so it is built by a cargo of
//! its own: into a target directory under `OUT_DIR` (the outer cargo holds the lock of the usual one), always
//! with the release profile, and without the `cli` feature, which is what makes the circle end.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "liboverstep_agent.so";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    if env::var_os("CARGO_FEATURE_CLI").is_none() {
        return;
    }
    for input in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={input}");
    }
    watch_agent_sources();
    let embedded = out_dir().join("agent.so");
    // docs.rs builds without a network and runs nothing: an empty agent documents as well as a full one.
    if env::var_os("DOCS_RS").is_some() {
        fs::write(&embedded, []).unwrap_or_else(|error| panic!("{}: {error}", embedded.display()));
        return;
    }
    let built = build_agent();
    fs::copy(&built, &embedded)
        .unwrap_or_else(|error| panic!("{} to {}: {error}", built.display(), embedded.display()));
}

/// The agent is built from everything in `src/` but the command line and what only that uses; a new folder shows in `lib.rs`.
fn watch_agent_sources() {
    let entries = fs::read_dir("src").unwrap_or_else(|error| panic!("src: {error}"));
    for name in entries.filter_map(|entry| Some(entry.ok()?.file_name())) {
        if !["cli", "precision", "main.rs"].iter().any(|not| name == *not) {
            println!("cargo:rerun-if-changed=src/{}", name.display());
        }
    }
}

/// Runs the nested cargo; the path of the shared object it made.
fn build_agent() -> PathBuf {
    let package = PathBuf::from(required("CARGO_MANIFEST_DIR"));
    let target = required("TARGET").into_string().expect("a target triple is ASCII");
    let target_dir = out_dir().join("agent");

    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--target", &target, "--manifest-path"]);
    cargo.arg(package.join("src/agent/Cargo.toml")).arg("--target-dir").arg(&target_dir);
    // The outer cargo has resolved and downloaded already; a second opinion could only differ, or write
    // into a source directory that may be read-only.
    if package.join("Cargo.lock").exists() {
        cargo.arg("--locked");
    }
    own_environment(&mut cargo);

    let status = cargo.status().unwrap_or_else(|error| panic!("cannot run cargo for the agent: {error}"));
    assert!(status.success(), "building the agent failed ({status}); its messages stand above");
    target_dir.join(target).join("release").join(LIBRARY)
}

/// Takes out of the nested cargo's environment whatever the outer one meant for this package alone.
fn own_environment(cargo: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(belongs_to_the_outer_build) {
            cargo.env_remove(name);
        }
    }
    // Empty rather than absent: flags for the executable (coverage, sanitizers, from a config file, too) call
    // into a runtime that the signal handler must not meet.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
    // The agent is a guest: an unwinding panic would meet the host program's frames.
    cargo.env("CARGO_PROFILE_RELEASE_PANIC", "abort");
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "false");
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
}

fn belongs_to_the_outer_build(name: &str) -> bool {
    const PREFIXES: [&str; 5] =
        ["CARGO_FEATURE_", "CARGO_CFG_", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_PROFILE_"];
    // RUSTC_*WRAPPER is clippy-driver under `cargo clippy`, which would check the agent instead of building it.
    const NAMES: [&str; 13] = [
        "RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET_DIR",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_RUSTC_WRAPPER",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name) || name == "OUT_DIR"
}

fn out_dir() -> PathBuf {
    Path::new(&required("OUT_DIR")).to_path_buf()
}

fn required(variable: &str) -> OsString {
    env::var_os(variable).unwrap_or_else(|| panic!("cargo did not set {variable}"))
}
