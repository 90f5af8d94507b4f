//! Which modules of two traces are one and the same.

use crate::listing::place::file_name;
use crate::record::reader::Trace;

/// Calls modules of `b` as `a` calls what has the same build-id: a program that was copied or renamed is the same program.
/// The others are paired by their names as they are.
pub fn pair(a: &Trace, b: &mut Trace) {
    let mut renamed = Vec::new();
    for module in b.modules().iter().filter(|module| !module.build_id.is_empty()) {
        let same = a.modules().iter().filter(|other| other.build_id == module.build_id);
        let Some(same) = same.min_by_key(|other| file_name(&other.path) != file_name(&module.path)) else {
            continue;
        };
        let name = file_name(&same.path);
        let taken = b.modules().iter().any(|other| other.id != module.id && file_name(&other.path) == name);
        if file_name(&module.path) != name && !taken {
            renamed.push((module.id, same.path.clone()));
        }
    }
    for (id, path) in renamed {
        b.rename_module(id, path);
    }
}
