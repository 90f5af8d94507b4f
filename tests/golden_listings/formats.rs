//! The formats, and what of them is kept.

/// One way to list a trace.
#[derive(Clone, Copy)]
pub struct Format {
    /// The extension of the kept file.
    pub name: &'static str,
    pub options: &'static [&'static str],
    /// What of the output is kept.
    pub part: fn(&str) -> String,
}

/// All of them, from one trace.
pub const FORMATS: [Format; 6] = [
    Format { name: "txt", options: &[], part: str::to_owned },
    Format { name: "loops.txt", options: &["--collapse-loops", "--columns", LOOPS], part: str::to_owned },
    Format { name: "md", options: &["--format", "markdown"], part: str::to_owned },
    Format { name: "csv", options: &["--format", "csv"], part: str::to_owned },
    Format { name: "jsonl", options: &["--format", "json"], part: str::to_owned },
    Format { name: "html.rows", options: &["--format", "html"], part: rows },
];

const LOOPS: &str = "n,depth,symbol,instruction";

/// Rows and tables of a page; style and script are the same in all of them.
fn rows(page: &str) -> String {
    let element = |start: &str| {
        let (_, rest) = page.split_once(start).expect("an explorer");
        rest.split_once("</script>").expect("the element's end").0.to_owned()
    };
    element("id=\"data-rows\">\n") + &element("id=\"data-tables\">") + "\n"
}
