//! What functions of the C library that are given masked values leave of them in memory (the manual pages in section 3).

/// Functions that write nothing that their caller reads, or only what their result says.
const NONE: &[&str] = &[
    "abort",
    "abs",
    "assert_fail",
    "atof",
    "atoi",
    "atol",
    "atoll",
    "cfree",
    "clearerr",
    "exit",
    "free",
    "getenv",
    "isalnum",
    "isalpha",
    "isatty",
    "isdigit",
    "isspace",
    "labs",
    "llabs",
    "malloc",
    "memchr",
    "memcmp",
    "memmem",
    "memrchr",
    "perror",
    "printf",
    "putchar",
    "puts",
    "rawmemchr",
    "reallocarray",
    "secure_getenv",
    "sleep",
    "srand",
    "srandom",
    "stack_chk_fail",
    "strcasecmp",
    "strcasestr",
    "strchr",
    "strchrnul",
    "strcmp",
    "strcoll",
    "strcspn",
    "strlen",
    "strncasecmp",
    "strncmp",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "strverscmp",
    "tolower",
    "toupper",
    "usleep",
    "vprintf",
    "wcslen",
];

/// Functions of `math.h`, without the letter for another type.
const MATH: &[&str] = &[
    "acos", "asin", "atan", "atan2", "cbrt", "ceil", "cos", "cosh", "exp", "exp2", "fabs", "floor", "fma",
    "fmax", "fmin", "fmod", "hypot", "log", "log10", "log2", "lround", "pow", "rint", "round", "sin", "sinh",
    "sqrt", "tan", "tanh", "trunc",
];

/// Functions that write to a stream: what its buffer holds is nobody's, unless it is a stream on memory.
const STREAMS: &[&str] =
    &["fclose", "fflush", "fprintf", "fputc", "fputs", "fputwc", "fputws", "fwrite", "putc", "vfprintf"];

/// Functions that open a stream on memory.
const MEMORY_STREAMS: &[&str] = &["fmemopen", "open_memstream", "open_wmemstream"];

/// Functions that bring what comes from outside to memory of which their arguments only say where its address is.
const BRINGING: &[&str] = &[
    "canonicalize_file_name",
    "get_current_dir_name",
    "getaddrinfo",
    "getdelim",
    "getline",
    "getpass",
    "realpath",
    "scandir",
];

/// Functions whose result leads to what they found in their arguments, or to nothing.
const SEARCHING: &[&str] = &[
    "bsearch",
    "memccpy",
    "memchr",
    "memmem",
    "memrchr",
    "rawmemchr",
    "stpcpy",
    "stpncpy",
    "strcasestr",
    "strchr",
    "strchrnul",
    "strpbrk",
    "strrchr",
    "strsep",
    "strstr",
    "strtok",
    "strtok_r",
    "wcschr",
    "wcsstr",
];

/// Whether what lies where its arguments lead decides about the address that the function answers.
#[must_use]
pub fn searches(name: &str) -> bool {
    SEARCHING.contains(&name)
}

/// How many floating-point values a function of `math.h` takes at most.
#[must_use]
pub fn math_arguments(name: &str) -> Option<usize> {
    let is_math = MATH.contains(&name) || name.strip_suffix(['f', 'l']).is_some_and(|it| MATH.contains(&it));
    is_math.then_some(3)
}

/// What a function writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// To the stream that is among its arguments.
    Stream,
    /// To a stream on memory, from now on.
    OpensMemory,
    /// What came from outside, anywhere.
    Brings,
    /// Where its second argument leads, how far the text was of use.
    End,
    /// Sorts the elements that its first argument leads to; the second and third say how many and how large.
    Sorts,
    /// The bytes that its first argument leads to, to where its result leads.
    Moves,
    /// Nobody knows.
    Unknown,
}

/// Of a function by the name that the documentation has.
#[must_use]
pub fn of(name: &str) -> Effect {
    let plain = name.strip_suffix("_unlocked").unwrap_or(name);
    match plain {
        "qsort" | "qsort_r" => Effect::Sorts,
        "realloc" => Effect::Moves,
        "strtod" | "strtof" | "strtol" | "strtold" | "strtoll" | "strtoul" | "strtoull" | "strtoimax"
        | "strtoumax" => Effect::End,
        _ if NONE.contains(&plain) || math_arguments(plain).is_some() => Effect::None,
        // Signal sets, threads and semaphores are their own.
        _ if ["sig", "pthread_", "sem_"].iter().any(|it| plain.starts_with(it)) => Effect::None,
        // Allocators of C++.
        _ if ["operator new", "operator delete", "Znw", "Zna", "Zdl", "Zda"]
            .iter()
            .any(|it| plain.starts_with(it)) =>
        {
            Effect::None
        }
        _ if STREAMS.contains(&plain) => Effect::Stream,
        _ if MEMORY_STREAMS.contains(&plain) => Effect::OpensMemory,
        _ if BRINGING.contains(&plain) => Effect::Brings,
        _ => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name() {
        assert_eq!(of("strlen"), Effect::None);
        assert_eq!(of("sqrtf"), Effect::None);
        assert_eq!(of("fputs_unlocked"), Effect::Stream);
        assert_eq!(of("operator new(unsigned long)"), Effect::None);
        assert_eq!(of("getline"), Effect::Brings);
        assert_eq!(of("strdup"), Effect::Unknown);
        assert_eq!(of(""), Effect::Unknown);
    }
}
