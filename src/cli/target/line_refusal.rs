//! Why a source line leads to no function, and what to write instead.

use std::collections::BTreeSet;
use std::path::Path;

use super::debug::Source;
use super::lines::Line;
use super::refusal::file_name;
use crate::cli::exit::{Failure, OVERSTEP_FAILED};
use crate::image::dwarf::error::DebugError;
use crate::image::dwarf::info::DebugInfo;
use crate::image::dwarf::lines::SourceLines;
use crate::image::function::nearest_of;

/// Source files to suggest.
const SUGGESTIONS: usize = 3;

/// Whose debug information it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Program,
    Library,
}

/// What was seen while looking for the line, in all files.
#[derive(Default)]
pub struct LineRefusal {
    /// The program itself had debug information; that of its libraries seldom matters.
    informed: bool,
    /// Source files of the wanted name.
    files: BTreeSet<String>,
    /// Names of the program's source files, while none is the wanted one.
    others: BTreeSet<String>,
    /// Lines with code around the wanted one.
    around: BTreeSet<u32>,
    damage: Option<String>,
}

impl LineRefusal {
    /// Takes down that `info` has no function for `line`.
    pub fn nothing_in(&mut self, place: Place, info: &DebugInfo<'_>, lines: &SourceLines, line: u32) {
        self.files.extend(lines.files.iter().map(|path| path.display().to_string()));
        self.around.extend(lines.around(line));
        if place == Place::Program {
            self.informed = true;
            self.others.extend(info.source_files().iter().map(|path| file_name(path)));
        }
    }

    /// Takes down that the debug information of the file at `path` cannot be read.
    pub fn damaged(&mut self, path: &Path, error: DebugError) {
        self.damage.get_or_insert_with(|| format!("`{}`: {error}", path.display()));
    }

    pub fn failure(self, Line { text, file, line }: Line<'_>, sources: &[Source<'_>]) -> Failure {
        let program = sources.first().map_or_else(String::new, |source| file_name(source.path));
        let fail = |what: String| Failure::new(OVERSTEP_FAILED, format_args!("`{text}`: {what}"));
        if let (Some(found), false) = (self.files.first(), self.around.is_empty()) {
            let near: Vec<_> = self.around.iter().map(u32::to_string).collect();
            return fail(format!(
                "line {line} of {found} has no code; the nearest lines that have some: {}",
                near.join(", ")
            ))
            .next(format_args!("name one of them: -f {file}:{}", near[0]));
        }
        if !self.files.is_empty() {
            return fail(format!("no code of `{program}` comes from {file}: it was inlined or dropped"))
                .next("compile it with -g -O0, or name the function that uses it");
        }
        if let Some(damage) = self.damage {
            return fail(damage).next("name the function, or its address as module+0xoffset");
        }
        if !self.informed {
            return fail(format!("`{program}` has no debug information, and its libraries have no {file}")).next(
                "compile with -g, or name the function (overstep symbols); a line needs the program itself, not \
                 one that starts it",
            );
        }
        let wanted = file_name(Path::new(file));
        let near = nearest_of(&wanted, self.others.iter().map(String::as_str), SUGGESTIONS);
        let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
        let suggestion =
            if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
        fail(format!("no source file of `{program}` or its libraries is called {file}{suggestion}")).next(
            "lines are looked up in the program named here, not in those it starts: name that one, or the \
             function",
        )
    }
}
