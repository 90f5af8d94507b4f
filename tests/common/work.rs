//! Programs that no one here wrote, at work long enough to be traced.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::program::Program;
use super::skip::{installed, skip};

/// A program at work, long enough for `steps` in one call of `function`.
pub struct Work {
    /// Programs that must be there.
    needs: &'static [&'static str],
    pub function: &'static str,
    /// The first call of it that is long.
    pub nth: &'static str,
    /// Steps that such a call has at least; more are taken from as many calls as it needs.
    pub a_call: u64,
    program: fn(&Path, u64) -> Option<Program>,
}

impl Work {
    /// The program, long enough for `steps`, with its files in `directory`. `None` after saying why.
    pub fn prepare(&self, test: &str, steps: u64, directory: &TempDir) -> Option<Program> {
        for program in self.needs {
            installed(test, program)?;
        }
        let program = (self.program)(directory.path(), steps);
        program.or_else(|| skip(test, "the program cannot be prepared here"))
    }
}

pub const BASH: Work = Work {
    needs: &["bash"],
    function: "execute_command",
    nth: "1",
    a_call: u64::MAX,
    program: |_, steps| {
        // A little over 10,000 instructions a round.
        let rounds = steps / 5_000 + 2;
        let script = format!(
            "declare -A seen; for ((i = 0; i < {rounds}; i++)); do \
             text=$((i * i % 97)):${{text:0:9}}; seen[$i]=${{text//1/one}}; done; echo $text ${{#seen[@]}}"
        );
        Some(Program::new(on_path("bash")?, &["--norc", "-c", &script]))
    },
};

pub const PYTHON: Work = Work {
    needs: &["python3"],
    function: "PyRun_StringFlags",
    nth: "1",
    a_call: u64::MAX,
    program: |_, steps| {
        let rounds = steps / 800 + 2;
        let script = format!(
            "words = {{}}\nfor i in range({rounds}):\n    \
             words.setdefault(str(i % 13), []).append('%x' % (i * i))\nprint(sorted(words.items())[0])"
        );
        // Behind a wrapper script the interpreter may lie elsewhere.
        let output =
            Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        let program = Program::new(path.trim(), &["-S", "-c", &script]);
        Some(program.with("PYTHONHASHSEED", "0"))
    },
};

pub const PERL: Work = Work {
    needs: &["perl"],
    function: "perl_run",
    nth: "1",
    a_call: u64::MAX,
    program: |_, steps| {
        let rounds = steps / 500 + 2;
        let script = format!(
            "my $text = ''; for my $i (1..{rounds}) {{ $text = reverse(substr($text, 0, 20)) . sprintf('%d,', $i * 7); \
             $text =~ s/(\\d)1/<$1>/g; }} print $text, \"\\n\";"
        );
        let program = Program::new(on_path("perl")?, &["-e", &script]);
        Some(program.with("PERL_HASH_SEED", "0").with("PERL_PERTURB_KEYS", "0"))
    },
};

pub const SQLITE: Work = Work {
    needs: &["sqlite3"],
    function: "sqlite3_step",
    nth: "1",
    a_call: u64::MAX,
    program: |_, steps| {
        let rounds = steps / 300 + 20;
        let query = format!(
            "with recursive c(x) as (select 1 union all select x + 1 from c where x < {rounds}) \
             select sum(x * x % 7), max(printf('%05d', x)), count(distinct x % 11) from c;"
        );
        Some(Program::new(on_path("sqlite3")?, &["-batch", ":memory:", &query]))
    },
};

pub const GIT: Work = Work {
    needs: &["git"],
    function: "inflate",
    // The first ones unpack the object's header.
    nth: "4",
    a_call: 400_000,
    program: |directory, steps| {
        // Numbers compress to a third or so; each byte takes ten instructions and more.
        let text: String =
            (0..steps / 20 + 20_000).map(|number| format!("{}\n", number * number % 8191)).collect();
        fs::write(directory.join("numbers"), text).expect("the file is written");
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(directory).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent");
            let output = command.args(arguments).output().ok()?;
            output.status.success().then(|| String::from_utf8(output.stdout).ok())?
        };
        git(&["init", "--quiet", "."])?;
        let object = git(&["hash-object", "-w", "numbers"])?;
        let folder = format!("--git-dir={}", directory.join(".git").display());
        let program = Program::new(on_path("git")?, &[&folder, "cat-file", "-p", object.trim()]);
        Some(program.with("GIT_CONFIG_NOSYSTEM", "1"))
    },
};

/// C++, with libstdc++ at every turn.
pub const APT: Work = Work {
    needs: &["apt-config"],
    function: "pkgInitConfig*",
    nth: "1",
    a_call: u64::MAX,
    program: |directory, steps| {
        // Short lines of configuration, hundreds of instructions each.
        let lines: String = (0..steps / 2_000 + 2)
            .map(|number| format!("Overstep::N{number} \"{}\";\n", number * 3))
            .collect();
        let file = directory.join("apt.conf");
        fs::write(&file, lines).expect("the file is written");
        let program = Program::new(on_path("apt-config")?, &["dump", "Overstep"]);
        Some(program.with("APT_CONFIG", file.to_str()?))
    },
};

fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Hands all of them to `$programs!`: the name of a test, the name of its long variant, and the work.
#[allow(unused_macros, reason = "each test file uses its part")]
macro_rules! each_work {
    ($programs:ident) => {
        $programs! {
            bash bash_at_length: BASH,
            python python_at_length: PYTHON,
            perl perl_at_length: PERL,
            sqlite sqlite_at_length: SQLITE,
            git git_at_length: GIT,
            apt apt_at_length: APT,
        }
    };
}
#[allow(unused_imports, reason = "each test file uses its part")]
pub(crate) use each_work;
