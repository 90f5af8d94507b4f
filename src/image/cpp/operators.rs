//! Operators by their code (5.1.5.1).

pub struct Operator {
    code: &'static str,
    pub name: &'static str,
    /// How many operands it has in an expression; 0 where it takes a form of its own there.
    pub operands: u8,
}

const fn operator(code: &'static str, name: &'static str, operands: u8) -> Operator {
    Operator { code, name, operands }
}

const OPERATORS: [Operator; 52] = [
    operator("aN", "&=", 2),
    operator("aS", "=", 2),
    operator("aa", "&&", 2),
    operator("ad", "&", 1),
    operator("an", "&", 2),
    operator("aw", "co_await", 1),
    operator("cl", "()", 0),
    operator("cm", ",", 2),
    operator("co", "~", 1),
    operator("dV", "/=", 2),
    operator("da", "delete[]", 1),
    operator("de", "*", 1),
    operator("dl", "delete", 1),
    operator("ds", ".*", 2),
    operator("dv", "/", 2),
    operator("eO", "^=", 2),
    operator("eo", "^", 2),
    operator("eq", "==", 2),
    operator("ge", ">=", 2),
    operator("gt", ">", 2),
    operator("ix", "[]", 0),
    operator("lS", "<<=", 2),
    operator("le", "<=", 2),
    operator("ls", "<<", 2),
    operator("lt", "<", 2),
    operator("mI", "-=", 2),
    operator("mL", "*=", 2),
    operator("mi", "-", 2),
    operator("ml", "*", 2),
    operator("mm", "--", 1),
    operator("na", "new[]", 0),
    operator("ne", "!=", 2),
    operator("ng", "-", 1),
    operator("nt", "!", 1),
    operator("nw", "new", 0),
    operator("oR", "|=", 2),
    operator("oo", "||", 2),
    operator("or", "|", 2),
    operator("pL", "+=", 2),
    operator("pl", "+", 2),
    operator("pm", "->*", 2),
    operator("pp", "++", 1),
    operator("ps", "+", 1),
    operator("pt", "->", 2),
    operator("qu", "?", 0),
    operator("rM", "%=", 2),
    operator("rS", ">>=", 2),
    operator("rm", "%", 2),
    operator("rs", ">>", 2),
    operator("ss", "<=>", 2),
    operator("dt", ".", 2),
    operator("nx", "noexcept", 1),
];

/// The operator that a mangled text begins with.
pub fn find(text: &[u8]) -> Option<&'static Operator> {
    let code = text.get(..2)?;
    OPERATORS.iter().find(|operator| operator.code.as_bytes() == code)
}
