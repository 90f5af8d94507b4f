use crate::support::{GCD, Program, overstep, run};

#[test]
fn functions_are_listed_with_address_size_and_name() {
    let Some(program) = Program::compile("functions_are_listed", GCD, &[]) else { return };
    let listed = run(overstep().arg("symbols").arg(&program.path).arg("gcd*"));
    assert_eq!(listed.status, Some(0), "{listed:?}");
    let names: Vec<_> =
        listed.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(names, ["gcd", "gcd_of_three"], "{}", listed.stdout);
    let row = listed.stdout.lines().nth(1).expect("a row");
    let address = row.split_whitespace().next().expect("an address");
    assert!(address.starts_with("0x") && u64::from_str_radix(&address[2..], 16).is_ok(), "{row}");
}

#[test]
fn json_gives_the_same_functions() {
    let Some(program) = Program::compile("json_gives_the_same", GCD, &[]) else { return };
    let listed = run(overstep().args(["symbols", "--format", "json"]).arg(&program.path).arg("gcd"));
    assert_eq!(listed.status, Some(0), "{listed:?}");
    let row: serde_json::Value = serde_json::from_str(listed.stdout.trim()).expect("one JSON object a line");
    assert_eq!(row["name"], "gcd");
    assert_eq!(row["kind"], "function");
    assert!(row["size"].as_u64().expect("a size") > 10, "{row}");
    assert!(row["address"].as_str().expect("a hex string").starts_with("0x"), "{row}");
}

#[test]
fn without_a_match_the_nearest_names_are_given() {
    let Some(program) = Program::compile("without_a_match", GCD, &[]) else { return };
    let missed = run(overstep().arg("symbols").arg(&program.path).arg("gdc"));
    assert_eq!(missed.status, Some(1), "{missed:?}");
    assert!(missed.stderr.contains("did you mean `gcd`"), "{}", missed.stderr);
    assert_eq!(missed.stdout, "");
}

const METHODS: &str = "
struct S {
    int v;
    __attribute__((noinline, noipa)) int get(int k) const { return v + k; }
    __attribute__((noinline, noipa)) bool operator<(int k) { return v < k; }
};
template <class T> __attribute__((noinline, noipa)) T add(T a, T b) { return a + b; }
namespace { __attribute__((noinline, noipa)) int anon(int x) { return x * 3; } }
struct T { static inline int get(int k) { return k + 1; } };
int main(int argc, char **) { S s{argc}; return s.get(1) + (s < 3) + add(argc, 2) + anon(argc) + T::get(argc); }
";

#[test]
fn functions_of_c_plus_plus_are_found_by_the_names_that_people_type() {
    let flags = ["-x", "c++", "-g"];
    let Some(program) = Program::compile("functions_of_c_plus_plus", METHODS, &flags) else { return };
    let symbols = |pattern: &str| run(overstep().arg("symbols").arg(&program.path).arg(pattern));
    // T::get is inlined everywhere; S::get is not.
    for name in ["S::get", "get", "S::operator<", "add<int>", "add", "anon", "(anonymous namespace)::anon"] {
        let listed = symbols(name);
        assert_eq!((listed.status, listed.stdout.lines().count()), (Some(0), 2), "{name}: {listed:?}");
    }
    for (slip, meant) in [("S::gte", "did you mean `S::get`"), ("ad<int>", "did you mean `add<int>`")] {
        assert!(symbols(slip).stderr.contains(meant), "{slip}: {:?}", symbols(slip));
    }
}

#[test]
fn a_static_programs_functions_are_listed_with_the_word_that_none_can_be_traced() {
    for (flags, said) in [(&["-static"][..], 1), (&[][..], 0)] {
        let Some(program) = Program::compile("a_static_programs", GCD, flags) else { continue };
        let listed = run(overstep().arg("symbols").arg(&program.path).arg("gcd"));
        assert_eq!(listed.status, Some(0), "{listed:?}");
        assert_eq!(listed.stderr.matches("is static").count(), said, "{flags:?}: {listed:?}");
    }
}

#[test]
fn functions_that_a_library_has_twice_are_told_apart_by_their_versions() {
    const TEST: &str = "functions_that_a_library_has_twice";
    const TWO: &str = "
int old(int n) { return n + 1; }
int new(int n) { return n + 2; }
asm(\".symver old, f@V_1\\n.symver new, f@@V_2\");
";
    let folder = tempfile::tempdir().expect("a temporary directory");
    let script = folder.path().join("map");
    std::fs::write(&script, "V_1 { global: f; local: *; }; V_2 { global: f; } V_1;").expect("a script");
    let script = format!("-Wl,--version-script={}", script.display());
    let Some(library) = Program::compile(TEST, TWO, &["-shared", "-fPIC", "-s", &script]) else { return };
    let names = |pattern: &str| {
        let listed = run(overstep().arg("symbols").arg(&library.path).arg(pattern));
        let rows = listed.stdout.lines().skip(1);
        rows.filter_map(|row| row.split_whitespace().last()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names("f"), ["f@V_1", "f@@V_2"]);
    let addresses = |pattern: &str| run(overstep().arg("symbols").arg(&library.path).arg(pattern)).stdout;
    for one in ["f@V_1", "f@@V_2", "f@V_2"] {
        assert_eq!(names(one), ["f"], "{one}");
    }
    assert_eq!(addresses("f@@V_2"), addresses("f@V_2"));
    assert_ne!(addresses("f@V_1"), addresses("f@V_2"));
}

#[test]
fn what_has_no_symbols_is_a_usage_error() {
    for path in ["/no/such/file", "/", "/etc/passwd"] {
        let refused = run(overstep().args(["symbols", path]));
        assert_eq!(refused.status, Some(2), "{path}: {refused:?}");
        assert!(refused.stderr.contains(path), "{path}: {}", refused.stderr);
    }
}

#[test]
fn libraries_are_listed_when_asked_for() {
    let Some(program) = Program::compile("libraries_are_listed", GCD, &[]) else { return };
    let without = run(overstep().arg("symbols").arg(&program.path).arg("fputs_unlocked"));
    assert_eq!(without.status, Some(1), "{without:?}");
    let with = run(overstep().args(["symbols", "--libs"]).arg(&program.path).arg("fputs_unlocked"));
    assert_eq!(with.status, Some(0), "{with:?}");
    assert!(with.stdout.contains("fputs_unlocked"), "{}", with.stdout);
}

#[test]
fn libraries_beside_the_program_are_found_through_a_link() {
    const TEST: &str = "libraries_beside_the_program";
    const LIBRARY: &str = "int beside(int n) { return n + 1; }";
    const PROGRAM: &str = "int beside(int n); int main(void) { return beside(1); }";
    let Some(library) = Program::compile(TEST, LIBRARY, &["-shared", "-fPIC"]) else { return };
    let folder = library.directory().to_str().expect("UTF-8");
    std::fs::rename(&library.path, library.directory().join("libbeside.so")).expect("the library is renamed");
    let linked = ["-L", folder, "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "-lbeside"];
    // The libraries that are named come behind the source.
    let source = library.directory().join("program.c");
    std::fs::write(&source, PROGRAM).expect("the source is written");
    let path = library.directory().join("program");
    let built = run(std::process::Command::new("gcc").arg("-o").arg(&path).arg(&source).args(linked));
    assert_eq!(built.status, Some(0), "{built:?}");
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let listed = run(overstep().args(["symbols", "--libs"]).arg(&link).arg("beside"));
    assert_eq!(listed.status, Some(0), "{listed:?}");
    assert!(listed.stdout.contains("libbeside.so"), "{}", listed.stdout);
}
