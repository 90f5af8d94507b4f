//! Names of real programs, as `nm -C` of binutils 2.40 writes them.

use super::demangle;

#[track_caller]
fn is(mangled: &str, wanted: &str) {
    assert_eq!(demangle(mangled).as_deref(), Some(wanted), "{mangled}");
}

#[test]
fn constructors_and_conversions_have_no_result() {
    is("_ZN1SC1IlEET_i", "S::S<long>(long, int)");
    is("_ZN1SC2IcEET_", "S::S<char>(char)");
    is("_ZNK1ScvT_IsEEv", "S::operator short<short>() const");
    is("_ZN1SD1Ev", "S::~S()");
    is("_ZN1S3maxIiEET_S1_S1_", "int S::max<int>(int, int)");
    is(
        "_ZNSsC1EPKcRKSaIcE",
        "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string(char const*, std::allocator<char> const&)",
    );
    is("_ZNKSs4sizeEv", "std::string::size() const");
}

#[test]
fn packs_are_spelled_out() {
    is("_Z1fIJidEEvDpOT_", "void f<int, double>(int&&, double&&)");
    is("_Z1fIJRiKdEEvDpOT_", "void f<int&, double const>(int&, double const&&)");
    is("_Z1fIJEEvDpOT_", "void f<>()");
    is("_Z1gIiJEEvT_DpT0_", "void g<int>(int)");
    is(
        "_Z1hISt5tupleIJidEEJS1_S1_EEvDpOT0_",
        "void h<std::tuple<int, double>, std::tuple<int, double>, std::tuple<int, double> >(std::tuple<int, double>&&, std::tuple<int, double>&&)",
    );
}

#[test]
fn functions_in_functions() {
    is("_ZZ1fIiEvT_E1x", "f<int>(int)::x");
    is("_ZZN1SC1IlEET_iENKUlvE_clEv", "S::S<long>(long, int)::{lambda()#1}::operator()() const");
    is("_ZZ4mainENKUlT_E_clIiEEDaS_", "auto main::{lambda(auto:1)#1}::operator()<int>(int) const");
    is("_ZZ1fvE1x_0", "f()::x");
}

#[test]
fn expressions_in_arguments() {
    is(
        "_ZSt14__relocate_a_1IiiENSt9enable_ifIXsrSt24__is_bitwise_relocatableIT_vE5valueEPS2_E4typeES4_S4_S4_RSaIT0_E",
        "std::enable_if<std::__is_bitwise_relocatable<int, void>::value, int*>::type \
         std::__relocate_a_1<int, int>(int*, int*, int*, std::allocator<int>&)",
    );
    // The parameter in an expression is no substitution.
    is(
        "_Z1fIiLm3EEvSt5arrayIT_XT0_EES1_S2_",
        "void f<int, 3ul>(std::array<int, 3ul>, int, std::array<int, 3ul>)",
    );
    is("_ZN1AILm0ELin5ELb1EE1fEv", "A<0ul, -5, true>::f()");
    is("_Z1fILN2ns1EE3EEvv", "void f<(ns::E)3>()");
    is("_Z1fI1AXadL_ZNS0_1gEiEEEvv", "void f<A, &A::g>()");
    is("_Z3addIidEDTplfp_fp0_ET_T0_", "decltype ({parm#1}+{parm#2}) add<int, double>(int, double)");
}

#[test]
fn types() {
    is("_Z1fPFiPA5_KcE", "f(int (*)(char const (*) [5]))");
    is("_Z1fM1AKFivE", "f(int (A::*)() const)");
    is("_Z1fRA3_i", "f(int (&) [3])");
    is("_Z1gIiEPFvT_Ev", "void (*g<int>())(int)");
    is("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()");
    is("_ZNKR1A1fB5cxx11Ev", "A::f[abi:cxx11]() const &");
    is("_ZTV1A", "vtable for A");
    is("_ZThn16_N1A1fEv", "non-virtual thunk to A::f()");
    is("_ZlsRSo1A", "operator<<(std::ostream&, A)");
    is("_ZdaPv", "operator delete[](void*)");
}

#[test]
fn what_is_no_name_is_refused() {
    for text in
        ["", "main", "_Z", "_ZN", "_ZN1AE5", "_Z1fS9_", "_Z1fT_", "_ZGVbN2v_sin", "_Z9999999999999999999f"]
    {
        assert_eq!(demangle(text), None, "{text}");
    }
    let deep = format!("_Z1f{}i", "P".repeat(10_000));
    assert_eq!(demangle(&deep), None);
}

#[test]
fn a_short_name_of_an_endless_one_is_refused() {
    // Each substitution says the one before twice.
    let mut name = "_Z1fN1AIiiEE".to_owned();
    for at in 0..30 {
        let before = if at < 36 { char::from_digit(at, 36) } else { None };
        let before = before.map_or('0', |digit| digit.to_ascii_uppercase());
        name.push_str(&format!("1BIS{before}_S{before}_E"));
    }
    assert!(demangle(&name).is_none_or(|name| name.len() <= 64 << 10));
}
