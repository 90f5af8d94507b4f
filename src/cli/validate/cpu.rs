//! `--cpu N`: whether this process can stay there.

use std::fs;

use crate::cli::exit::{Failure, USAGE};
use crate::event::environment::Status;

/// Checks a CPU's number against those that are online, and those that this process may use.
///
/// # Errors
/// Which of the two it is, and what to do.
pub fn check(cpu: u32) -> Result<(), Failure> {
    let read = |name: &str| fs::read_to_string(format!("/sys/devices/system/cpu/{name}")).unwrap_or_default();
    let status = Status::of_this_thread();
    let allowed = status.field("Cpus_allowed_list").unwrap_or_default();
    judge(cpu, read("present").trim(), read("online").trim(), allowed)
}

/// `present`, `online` and `allowed` are lists as the kernel writes them; an empty one is not known.
fn judge(cpu: u32, present: &str, online: &str, allowed: &str) -> Result<(), Failure> {
    let not_in = |list: &str| !list.is_empty() && !contains(list, cpu);
    let wrong = |what: String, next: String| Err(Failure::new(USAGE, what).next(next));
    if not_in(present) {
        return wrong(
            format!("--cpu {cpu}: there is no such CPU"),
            format!("this machine has {present}; `lscpu --extended` shows them"),
        );
    }
    if not_in(online) {
        return wrong(
            format!("--cpu {cpu}: it is offline; online are {online}"),
            format!("choose one of those, or: echo 1 | sudo tee /sys/devices/system/cpu/cpu{cpu}/online"),
        );
    }
    if not_in(allowed) {
        return wrong(
            format!("--cpu {cpu}: this process may use {allowed} only (taskset, a container or a cpuset)"),
            "choose one of those, or run it outside of that".to_owned(),
        );
    }
    Ok(())
}

/// Whether `list` (`0-3,8`) has `cpu`.
fn contains(list: &str, cpu: u32) -> bool {
    list.split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let bounds = (first.trim().parse::<u32>(), last.trim().parse::<u32>());
        matches!(bounds, (Ok(first), Ok(last)) if (first..=last).contains(&cpu))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_offline_and_forbidden_are_told_apart() {
        let what = |cpu| judge(cpu, "0-7", "0-3,6", "0-1,6").map_err(|failure| failure.what);
        assert_eq!(what(6), Ok(()));
        assert_eq!(what(8), Err("--cpu 8: there is no such CPU".to_owned()));
        assert_eq!(what(5), Err("--cpu 5: it is offline; online are 0-3,6".to_owned()));
        assert!(what(3).unwrap_err().contains("may use 0-1,6 only"));
        assert_eq!(judge(900, "", "", "").map_err(|failure| failure.what), Ok(()));
    }
}
