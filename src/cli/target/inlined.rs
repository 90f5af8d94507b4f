//! A name without a symbol that the compiler inlined: where its code went.

use std::collections::BTreeSet;

use super::debug::Source;
use super::refusal::file_name;
use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::image::dwarf::inlined::InlineSite;
use crate::image::function::name_matches;
use crate::image::names;

/// Call sites to list before "and more".
const LISTED: usize = 6;

/// The refusal for `name`, a name or a glob that no symbol of `sources` matches, if a file's debug information
/// says that all of its calls were inlined. Debug information that is damaged says nothing.
pub fn refusal(name: &str, sources: &[Source<'_>]) -> Option<Failure> {
    let inlined = |source: &Source<'_>| {
        let ask = source.ask(|info, _| info.inlined(|it| name_matches(name, it)));
        ask.ok().flatten().flatten().map(|sites| failure(name, *source, &sites))
    };
    sources.iter().find_map(inlined)
}

fn failure(name: &str, source: Source<'_>, sites: &BTreeSet<InlineSite>) -> Failure {
    let file = file_name(source.path);
    let Some(first) = sites.first() else {
        return Failure::new(
            OVERSTEP_FAILED,
            format_args!("`{name}` has no code in `{file}`: the compiler removed it and every call"),
        )
        .next("compile its file with -O0 or -fno-inline");
    };
    let mut places: Vec<_> = sites.iter().take(LISTED).map(place).collect();
    if sites.len() > LISTED {
        places.push(format!("and {} more", sites.len() - LISTED));
    }
    let what =
        format_args!("`{name}` is inlined everywhere; it has no code of its own: in {}", places.join(", "));
    let caller = names::demangle(&first.caller);
    Failure::new(OVERSTEP_FAILED, what).next(format_args!(
        "trace a caller: -f '{caller}'; or compile with -fno-inline (Rust: #[inline(never)])"
    ))
}

fn place(site: &InlineSite) -> String {
    let caller = names::demangle(&site.caller);
    match &site.place {
        Some((file, line)) => format!("{caller} ({file}:{line})"),
        None => caller.into_owned(),
    }
}
