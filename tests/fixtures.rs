//! Small programs, each hard on a single-step tracer in one respect: their output is as untraced, their steps are as
//! stated beside the source, and the rows are the same in every way of stepping.

mod common;

use common::fixture::{self, Built, Case, Fixture, each_fixture};
use common::judge::References;
use common::program::Program;
use common::run::{Traced, native};
use common::skip::traceable;
use common::way::{OTHERS, REFERENCE};

/// Builds and judges one fixture, each case in each variant in each way.
fn judge(file: &str) {
    let Some(()) = traceable(file) else { return };
    let fixture = Fixture::read(file);
    for built in fixture.build(file) {
        for case in &fixture.cases {
            judge_case(file, &built, case);
        }
    }
}

fn judge_case(file: &str, built: &Built, case: &Case) {
    let program = Program::new(&built.path, &[]);
    let untraced = native(&program);
    let options: Vec<_> = case.options.iter().map(String::as_str).chain(["--memory"]).collect();
    let describe = |way: &str| format!("{file} [{}] {} by {way}", built.flags, case.options.join(" "));
    let expect = |run: &Traced, way: &str| {
        let described = describe(way);
        assert_eq!(run.outcome, untraced, "{described}: output and status\n{}", run.stderr);
        for expectation in &case.expectations {
            expectation.assert(&run.trace, &built.path, &described);
        }
    };

    let mut references = References::new(&program, &options, built.directory());
    expect(references.first(), REFERENCE.name);
    for way in OTHERS {
        let described = describe(way.name);
        let (run, agreement) =
            references.against(way).unwrap_or_else(|difference| panic!("{described}: {difference}"));
        expect(&run, way.name);
        assert!(
            case.varies || agreement.varying == 0,
            "{described}: {} values vary between runs of one engine, and the fixture does not say why: {}",
            agreement.varying,
            agreement.first_varying.unwrap_or_default()
        );
        println!("{described}: {} rows, {} values alike", agreement.rows, agreement.values);
    }
}

macro_rules! fixtures {
    ($($name:ident: $file:literal,)*) => {
        const FILES: &[&str] = &[$($file),*];
        $(#[test] fn $name() { judge($file); })*
    };
}

each_fixture!(fixtures);

#[test]
fn every_fixture_has_its_test() {
    fixture::assert_all_in(FILES);
}
